import Glibc
import SystemPackage
import TestKit
import Testing

/// Renaming, removing and directories.
@Suite struct RenameTests {
    private func mounted(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.guarded { home in
            let keys = try ["a", "b"].map { try home.makeKey("\($0)@example.org") }
            let store = try home.makeStore("work", recipients: [keys[0]], remote: true)
            try FileCalls.makeDirectory(store.path.appending("shared"))
            try home.write("\(keys[0].fingerprint)\n\(keys[1].fingerprint)\n", to: "work/shared/.gpg-id")
            try store.git("add", ".")
            try store.git("commit", "--quiet", "--message", "Share")
            for name in ["one", "two", "dir/inner", "shared/s"] { try store.insert(name, "\(name)\n") }
            try home.addStores([store, try home.makeStore("other", recipients: [keys[0]], git: false)])
            try home.mount()
            try body(home, store)
            try home.unmount()
            #expect(try store.git("status", "--porcelain").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }

    /// Holds:
    /// - rename(2) of a secret renames the ciphertext, or, where other recipients apply, re-encrypts it for
    ///   them.
    /// - A rename within a store is committed as one, in pass's words: `Rename A to B.`
    /// - rename(2) over another secret replaces it; with RENAME_NOREPLACE it is EEXIST.
    /// - Renaming from one store to another is EXDEV, and so is renaming a directory to where other
    ///   recipients apply; mv(1) then copies, and each file is re-encrypted.
    @Test(.slow) func renamingFollowsTheRecipients() throws {
        try mounted { home, store in
            let before = try home.bytes(of: "work/one.gpg")
            try FileCalls.rename(home.visible("work/one"), to: home.visible("work/dir/uno"))
            #expect(try home.bytes(of: "work/dir/uno.gpg") == before)
            try home.waitUntilCommitted(store)
            #expect(try store.git("log", "-1", "--format=%s") == "Rename one to dir/uno.")

            try FileCalls.rename(home.visible("work/dir/uno"), to: home.visible("work/shared/one"))
            #expect(try store.recipientKeyIDs(of: "shared/one").count == 2)
            #expect(try store.show("shared/one") == Array("one\n".utf8))
            try FileCalls.rename(home.visible("work/shared/one"), to: home.visible("work/one"))
            #expect(try store.recipientKeyIDs(of: "one").count == 1)

            let refused = try home.run(["mv", "--no-clobber", "one", "two"], in: home.visible("work"))
            #expect(!refused.timedOut)
            #expect(try store.show("two") == Array("two\n".utf8))
            try FileCalls.rename(home.visible("work/one"), to: home.visible("work/two"))
            #expect(try store.show("two") == Array("one\n".utf8))
            #expect(!FileCalls.exists(home.visible("work/one")))

            #expect(throws: Errno.improperLink) {
                try FileCalls.rename(home.visible("work/two"), to: home.visible("other/two"))
            }
            #expect(throws: Errno.improperLink) {
                try FileCalls.rename(home.visible("work/dir"), to: home.visible("work/shared/dir"))
            }
            try home.succeed(["mv", "work/two", "other/two"], in: home.mountPoint)
            #expect(!FileCalls.exists(store.path.appending("two.gpg")))
            #expect(try FileCalls.read(home.visible("other/two")) == Array("one\n".utf8))
            try home.succeed(["mv", "dir", "shared/dir"], in: home.visible("work"))
            #expect(try store.recipientKeyIDs(of: "shared/dir/inner").count == 2)
            #expect(!FileCalls.exists(store.path.appending("dir")))
        }
    }

    /// Holds:
    /// - Removing a secret removes its ciphertext; who has it open keeps reading, and what is written to it
    ///   after that is saved nowhere.
    /// - A directory that is not empty, or in which something is not saved yet, cannot be removed: ENOTEMPTY.
    /// - Directories are made and removed on disk at once; git, and so the remote, sees them when there is a
    ///   secret in them.
    @Test(.slow) func removingIsFinal() throws {
        try mounted { home, store in
            let held = try FileDescriptor.open(home.visible("work/one"), .readWrite)
            try FileCalls.unlink(home.visible("work/one"))
            #expect(!FileCalls.exists(store.path.appending("one.gpg")))
            var bytes = [UInt8](repeating: 0, count: 10)
            #expect(try bytes.withUnsafeMutableBytes { try held.read(fromAbsoluteOffset: 0, into: $0) } == 4)
            try held.writeAll([1, 2, 3])
            try held.close()
            #expect(!FileCalls.exists(store.path.appending("one.gpg")))
            #expect(try home.status().store("work").unsaved.isEmpty)

            #expect(rmdir(home.visible("work/dir").string) == -1 && errno == ENOTEMPTY)
            try FileCalls.unlink(home.visible("work/dir/inner"))
            #expect(rmdir(home.visible("work/dir").string) == 0)
            try FileCalls.makeDirectory(home.visible("work/new"))
            let fresh = try FileDescriptor.open(
                home.visible("work/new/s"), .writeOnly, options: .create, permissions: .ownerReadWrite)
            try fresh.writeAll([1])
            #expect(rmdir(home.visible("work/new").string) == -1 && errno == ENOTEMPTY)
            try fresh.close()
            #expect(try store.show("new/s") == [1])
            try home.succeed(["rm", "-r", "new"], in: home.visible("work"))
            #expect(!FileCalls.exists(store.path.appending("new")))
        }
    }

    /// Programs that save by a temporary name, against others that remove and rename the same names.
    ///
    /// Holds:
    /// - Saves, renames and removals of the same name by several programs follow one another: what is there
    ///   in the end is what one of them saved whole.
    @Test(.slow) func savesAgainstRenamesAndRemovals() throws {
        try mounted { home, store in
            let names = ["x", "y", "shared/x"].map { home.visible("work/\($0)") }
            let rounds = Soak.count(inSuite: 20)
            let workers = (0..<4).map { worker in
                Background {
                    for round in 0..<rounds {
                        let target = names[(worker + round) % names.count]
                        let content =
                            Array("\(worker) \(round) ".utf8)
                            + Array(repeating: UInt8(ascii: "z"), count: 2000)
                        switch (worker + round) % 4 {
                        case 0: try? FileCalls.unlink(target)
                        case 1: try? FileCalls.rename(names[round % 3], to: target)
                        default: try? FileCalls.save(content, to: target)
                        }
                    }
                }
            }
            for worker in workers {
                guard try worker.value(within: .seconds(Int64(60 + rounds))) != nil else {
                    throw TestFailure("a program hangs")
                }
            }
            #expect(try home.status().store("work").unsaved.isEmpty)
            for name in ["x", "y", "shared/x"]
            where FileCalls.exists(store.path.pushing(FilePath(name + ".gpg"))) {
                let content = try store.show(name)
                #expect(content == (try FileCalls.read(home.visible("work/\(name)"))))
                #expect(
                    content.count > 2000 && content.suffix(2000).allSatisfy { $0 == UInt8(ascii: "z") },
                    "\(name)")
                #expect(try store.recipientKeyIDs(of: name).count == (name.hasPrefix("shared") ? 2 : 1))
            }
        }
    }
}
