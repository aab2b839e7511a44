import Glibc
import SystemPackage
import TestKit
import Testing

/// A store's folder is moved away or removed while it is mounted, and perhaps another one takes its path.
@Suite struct ReplacedFolderTests {
    private func withStore(
        _ settings: [String: String], _ body: (TestHome, TestStore) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [home.makeKey("a@example.org")], remote: true)
            try store.insert("s", "one\n")
            try store.insert("t", "keep\n")
            try store.git("push", "-q")
            try home.configure(settings)
            try home.addStores([store])
            try home.mount()
            // The store is in use, nothing of it waits, and the first exchange with the remote has ended.
            _ = try FileCalls.read(home.visible("work/s"))
            #expect(try home.passdir("sync").exitCode == 0)
            try body(home, store)
        }
    }

    /// How another folder comes to the path.
    enum Way: CaseIterable, Sendable {
        case cloned
        case clonedAfterRemoval
        case exchanged
    }

    private func replace(_ way: Way, _ home: TestHome) throws {
        let (path, remote) = (home.path("work"), home.path("work.git").string)
        switch way {
        case .cloned:
            try FileCalls.rename(path, to: home.path("work.old"))
            try home.succeed(["git", "clone", "-q", remote, path.string])
        case .clonedAfterRemoval:
            try home.succeed(["rm", "-rf", path.string])
            try home.succeed(["git", "clone", "-q", remote, path.string])
        case .exchanged:
            try home.succeed(["git", "clone", "-q", remote, home.path("work.old").string])
            let (one, two) = (path.string, home.path("work.old").string)
            // renameat2(2) with RENAME_EXCHANGE.
            try home.succeed([
                "python3", "-c",
                "import ctypes,sys; sys.exit(ctypes.CDLL(None).renameat2(-100,b'\(one)',-100,b'\(two)',2))",
            ])
        }
    }

    /// Holds:
    /// - Where another folder takes the path of a store's while it is mounted, the mount goes over to it: what is saved
    ///   from then on is saved and committed there.
    @Test(.slow, arguments: Way.allCases) func savesGoToTheNewFolder(_ way: Way) throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            try replace(way, home)
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/n"))
            #expect(try store.show("s") == Array("two\n".utf8))
            try home.waitUntilCommitted(store)
            #expect(try store.git("rev-parse", "HEAD") == store.remoteGit("rev-parse", "main"))
            #expect(try store.git("ls-files") == ".gitattributes\n.gpg-id\nn.gpg\ns.gpg\nt.gpg")
            #expect(try home.status().store("work").lastError == nil)
            try home.unmount()
            #expect(try store.show("n") == Array("new\n".utf8))
        }
    }

    /// Holds:
    /// - A secret that only the new folder has is opened there by whoever would make it, right after the old folder was
    ///   looked at.
    @Test(.slow) func whatTheNewFolderHasIsNotInTheWay() throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            for round in 0..<10 {
                // Nothing is under way there any more: cp fails over a lock that goes while it copies.
                try home.succeed(["passdir", "sync"])
                try home.succeed(["cp", "-a", store.path.string, home.path("next").string])
                try home.succeed([
                    "cp", home.path("next/t.gpg").string, home.path("next/n\(round).gpg").string,
                ])
                _ = try FileCalls.read(home.visible("work/s"))
                try FileCalls.rename(store.path, to: home.path("old\(round)"))
                // As one that was removed, it does not say any more for whom a secret is.
                if round % 2 == 1 { try FileCalls.unlink(home.path("old\(round)/.gpg-id")) }
                try FileCalls.rename(home.path("next"), to: store.path)
                try FileCalls.save(Array("new\n".utf8), to: home.visible("work/n\(round)"))
                #expect(try store.show("n\(round)") == Array("new\n".utf8))
                try home.waitUntilCommitted(store)
            }
            try home.unmount()
        }
    }

    /// Holds:
    /// - What was saved into a folder before another one took its path, and not committed, is told by `passdir status`
    ///   with the place where it lies, until it is gone from there; nothing is committed as missing.
    @Test func whatWasLeftBehindIsTold() throws {
        try withStore(["commit.delay": "1h"]) { home, store in
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            try FileCalls.save(Array("new\n".utf8), to: home.visible("work/only"))
            try replace(.cloned, home)
            let told = try home.status().store("work")
            #expect(told.state == "waiting")
            let sentence = told.lastError ?? ""
            #expect(sentence.contains("s, only") && sentence.contains(home.path("work.old").string))
            #expect(told.pendingChanges == 0)
            // Wherever it is moved to.
            try FileCalls.rename(home.path("work.old"), to: home.path("attic"))
            #expect(try home.status().store("work").lastError?.contains(home.path("attic").string) == true)
            try FileCalls.save(Array("three\n".utf8), to: home.visible("work/t"))
            try FileCalls.rename(home.path("attic/only.gpg"), to: home.path("work/only.gpg"))
            try FileCalls.unlink(home.path("attic/s.gpg"))
            #expect(try home.status().store("work").lastError == nil)
            try home.unmount()
            #expect(try store.show("s") == Array("one\n".utf8))
            #expect(try store.show("only") == Array("new\n".utf8))
            #expect(try store.show("t") == Array("three\n".utf8))
        }
    }

    /// `status` is gone with the daemon.
    @Test func unmountTellsWhatWasLeftBehind() throws {
        try withStore(["commit.delay": "1h"]) { home, store in
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            try replace(.cloned, home)
            // In use again, at the new folder.
            _ = try FileCalls.read(home.visible("work/t"))
            let said = try home.passdir("unmount")
            try home.waitUntil("the daemon has ended") { home.daemons().isEmpty }
            #expect(said.exitCode == 0)
            #expect(said.errors.contains("committed: s"), "\(said.errors)")
            #expect(said.errors.contains(home.path("work.old").string), "\(said.errors)")
            #expect(try store.show("s") == Array("one\n".utf8))
        }
    }

    /// Holds:
    /// - While there is no folder at a store's path, or one that is no store, every change through the mount fails with
    ///   ESTALE; what is edited stays in memory and is saved when the folder is there again.
    @Test(.slow, arguments: ["", "empty", "file"]) func nothingIsSavedIntoAFolderThatIsGone(
        _ instead: String
    ) throws {
        try withStore(["commit.delay": "10ms", "save.retry": "100ms"]) { home, store in
            let file = try Editor(home, home.visible("work/s"), .truncate)
            try file.write("two\n")
            try FileCalls.rename(store.path, to: home.path("elsewhere"))
            if instead == "empty" { try FileCalls.makeDirectory(store.path) }
            if instead == "file" { try home.write("", to: "work") }
            #expect(throws: Errno.staleNFSFileHandle) { try file.synchronize() }
            #expect(open(home.visible("work/new").string, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600) == -1)
            #expect(errno == ESTALE)
            #expect(unlink(home.visible("work/t").string) == -1)
            #expect(errno == ESTALE)
            #expect(mkdir(home.visible("work/d").string, 0o700) == -1)
            #expect(errno == ESTALE)
            let told = try home.status().store("work")
            #expect(told.state == "waiting" && told.unsaved.map(\.path) == ["s"])
            #expect(told.lastError?.contains(home.path("elsewhere").string) == true)
            #expect(try home.passdir("sync", "work").exitCode == 1, "it is not in step")
            if instead == "empty" { #expect(rmdir(store.path.string) == 0) }
            if instead == "file" { try FileCalls.unlink(store.path) }
            try FileCalls.rename(home.path("elsewhere"), to: store.path)
            try home.waitUntil("it is saved") { try home.status().store("work").unsaved.isEmpty }
            try home.waitUntilCommitted(store)
            #expect(try store.show("s") == Array("two\n".utf8))
            #expect(try store.show("t") == Array("keep\n".utf8))
            try home.waitUntil("it is pushed") { try home.status().store("work").state == "ready" }
            try file.close()
            try home.unmount()
        }
    }

    /// Holds:
    /// - An edit that is open when the store's folder is replaced is saved into the new one; what that has of the secret
    ///   stays beside it.
    @Test func anOpenEditGoesAlong() throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            let file = try Editor(home, home.visible("work/s"), .append)
            try file.write("two\n")
            try replace(.cloned, home)
            try file.close()
            #expect(try store.show("s") == Array("one\ntwo\n".utf8))
            try home.waitUntilCommitted(store)
            try home.unmount()
            let all = try store.git("ls-files").split(separator: "\n").map(String.init)
            #expect(all.filter { $0.hasPrefix("s.conflict-") }.count == 1)
            #expect(all.contains("t.gpg"))
        }
    }

    /// The folder lies elsewhere, and a link leads there: it is the same store.
    @Test(.slow) func aLinkInThePlaceOfTheFolder() throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            try FileCalls.rename(home.path("work"), to: home.path("real"))
            try home.succeed(["ln", "-s", home.path("real").string, home.path("work").string])
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            #expect(try home.passdir("sync").output == "work: in sync\n")
            #expect(try store.git("status", "--porcelain") == "")
            try FileCalls.unlink(home.path("work"))
            try FileCalls.rename(home.path("real"), to: home.path("work"))
            try FileCalls.save(Array("three\n".utf8), to: home.visible("work/s"))
            #expect(try home.passdir("sync").output == "work: in sync\n")
            #expect(try store.git("rev-list", "--count", "origin/main..main") == "0")
            #expect(try store.show("s") == Array("three\n".utf8))
            try home.unmount()
        }
    }

    /// A link that the user named leads to another folder from now on.
    @Test(.slow) func aLinkThatIsSwitched() throws {
        try withStore(["commit.delay": "10ms"]) { home, store in
            try home.unmount()
            try FileCalls.rename(home.path("work"), to: home.path("one"))
            try home.succeed(["git", "clone", "-q", home.path("work.git").string, home.path("two").string])
            try home.succeed(["ln", "-s", home.path("one").string, home.path("work").string])
            try home.mount()
            #expect(try FileCalls.read(home.visible("work/s")) == Array("one\n".utf8))
            try home.succeed(["ln", "-sfn", home.path("two").string, home.path("work").string])
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            #expect(try home.passdir("sync").output == "work: in sync\n")
            #expect(try store.show("s") == Array("two\n".utf8))
            #expect(try home.passdir("status").output.contains("path     \(home.path("two"))\n"))
            #expect(try home.succeed(["git", "-C", home.path("one").string, "status", "--porcelain"]) == [])
            try home.unmount()
        }
    }

    /// Moved away before the daemon has looked at it for the first time.
    @Test func aFolderThatIsGoneAtOnce() throws {
        try withStore(["commit.delay": "10ms"]) { home, _ in
            try home.unmount()
            try home.mount()
            try FileCalls.rename(home.path("work"), to: home.path("away"))
            let synced = try home.passdir("sync")
            #expect(
                synced.exitCode == 1 && synced.errors.contains("is gone"), "\(synced.output)\(synced.errors)")
            try FileCalls.rename(home.path("away"), to: home.path("work"))
            #expect(try home.passdir("sync").output == "work: in sync\n")
            try home.unmount()
        }
    }

    /// The commands that `status` names for a folder that was moved, as they stand there.
    @Test(.slow) func theAdviceForAMovedFolderWorks() throws {
        try withStore(["commit.delay": "10ms"]) { home, _ in
            try FileCalls.rename(home.path("work"), to: home.path("else where"))
            let gone = try home.status().store("work").lastError ?? ""
            #expect(gone.contains("is now at \(home.path("else where"))"), "\(gone)")
            let commands = gone.matches(of: /passdir store [a-z]+ work (?:--yes|--path '[^']*')/)
            #expect(commands.count == 2, "\(gone)")
            for command in commands { try home.succeed(["sh", "-c", String(command.output)]) }
            #expect(try FileCalls.read(home.visible("work/s")) == Array("one\n".utf8))
            try FileCalls.save(Array("two\n".utf8), to: home.visible("work/s"))
            #expect(try home.passdir("sync").exitCode == 0)
            let moved = TestStore(home: home, path: home.path("else where"))
            #expect(try moved.show("s") == Array("two\n".utf8))

            // One that was removed, and of which nothing is left, is ended.
            try home.succeed(["rm", "-r", "else where"])
            try home.waitUntil("it is said to be gone") {
                try home.status().store("work").lastError?.contains(" is gone") == true
            }
            let removed = try home.status().store("work").lastError ?? ""
            let ending = removed.matches(of: /passdir store remove work --yes/).map { String($0.output) }
            #expect(ending.count == 1 && removed.contains("to remove the store"), "\(removed)")
            for command in ending { try home.succeed(["sh", "-c", command]) }
            #expect(try home.passdir("store", "list").output == "")
            try home.unmount(discardUnsaved: true)
        }
    }
}
