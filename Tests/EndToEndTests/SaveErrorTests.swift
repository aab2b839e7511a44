import Glibc
import SystemPackage
import TestKit
import Testing

/// A save that cannot be encrypted fails where the program can see it, loses nothing, and is made up for.
@Suite struct SaveErrorTests {
    /// What keeps a secret from being saved, the error that says so, and how it is mended.
    struct Trouble: Sendable, CustomTestStringConvertible {
        var name: String
        var errno: Errno
        /// Spoils the store; returns what the sentence in `status` must name.
        var spoil: @Sendable (TestHome, TestStore) throws -> String
        var mend: @Sendable (TestHome, TestStore) throws -> Void

        var testDescription: String { name }
    }

    private static let mendRecipients: @Sendable (TestHome, TestStore) throws -> Void = { home, _ in
        try home.write("a@example.org\n", to: "work/.gpg-id")
    }

    static let troubles = [
        Trouble(
            name: "a recipient without a key", errno: Errno(rawValue: 126),
            spoil: { home, _ in
                let key = try home.makeKey("b@example.org")
                let exported = try home.succeed(["gpg", "--batch", "--export", key.fingerprint])
                try FileCalls.save(exported, to: home.path("b.key"))
                try home.deleteKey(key)
                try home.write("a@example.org\n\(key.fingerprint)\n", to: "work/.gpg-id")
                return key.fingerprint
            },
            mend: { home, _ in try home.succeed(["gpg", "--batch", "--import", "b.key"]) }),
        Trouble(
            name: "an expired recipient", errno: Errno(rawValue: 127),
            spoil: { home, _ in
                let key = try home.makeExpiredKey("b@example.org")
                try home.write("a@example.org\n\(key.fingerprint)\n", to: "work/.gpg-id")
                return "b@example.org"
            },
            mend: { home, _ in
                let key = try home.succeed([
                    "gpg", "--batch", "--with-colons", "--list-keys", "b@example.org",
                ])
                let print = String(decoding: key, as: UTF8.self).split(separator: "\n")
                    .first { $0.hasPrefix("fpr:") }!.split(separator: ":", omittingEmptySubsequences: false)[
                        9]
                for subkeys in [[], ["*"]] {
                    try home.succeed(["gpg", "--batch", "--quick-set-expire", String(print), "0"] + subkeys)
                }
            }),
        Trouble(
            name: "a revoked recipient", errno: Errno(rawValue: 128),
            spoil: { home, _ in
                let key = try home.makeRevokedKey("b@example.org")
                try home.write("a@example.org\n\(key.fingerprint)\n", to: "work/.gpg-id")
                return "b@example.org"
            },
            mend: mendRecipients),
        Trouble(
            name: "no .gpg-id", errno: Errno(rawValue: 126),
            spoil: { home, _ in
                try FileCalls.unlink(home.path("work/.gpg-id"))
                return ".gpg-id"
            },
            mend: mendRecipients),
    ]

    /// Holds:
    /// - A file of a secret that could not be saved as things are cannot be opened for writing or made, as it is known then:
    ///   ENOKEY without a `.gpg-id` or for a recipient without a key, EKEYEXPIRED and EKEYREVOKED for one whose key is
    ///   expired or revoked; shells and other programs that do not look at what close(2) says report it, too.
    /// - A save of a file that was open before fails so at fsync(2) and close(2), and a notification on the desktop says it.
    /// - After that the old ciphertext stays on disk, while the new content stays in memory, is what the
    ///   mount shows, is listed by `passdir status` with a sentence that names the key, and is saved by
    ///   itself when that becomes possible.
    /// - `passdir status` exits with 1 while something is unsaved.
    @Test(.slow, arguments: troubles)
    func aSaveThatFailsIsReportedKeptAndMadeUpFor(_ trouble: Trouble) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key], remote: true)
            try store.insert("mail/imap", "old\n")
            let ciphertext = try home.bytes(of: "work/mail/imap.gpg")
            // Only asked for by this test, so that the by-itself part comes soon.
            try home.configure(["save.retry": "200ms", "recipients.confirm": "false"])
            try home.addStores([store])
            try home.mount()

            let file = home.visible("work/mail/imap")
            let open = try FileDescriptor.open(file, .writeOnly, options: .truncate)
            let fresh = try FileDescriptor.open(
                home.visible("work/brand-new"), .writeOnly, options: .create, permissions: .ownerReadWrite)
            let named = try trouble.spoil(home, store)
            try open.writeAll(Array("new\n".utf8))
            #expect(fsync(open.rawValue) == -1 && Errno(rawValue: errno) == trouble.errno, "fsync: \(errno)")
            #expect(throws: trouble.errno) { try open.close() }
            try fresh.writeAll([1])
            #expect(throws: trouble.errno) { try fresh.close() }

            #expect(try home.bytes(of: "work/mail/imap.gpg") == ciphertext, "the old ciphertext stays")
            #expect(!FileCalls.exists(home.path("work/brand-new.gpg")))
            #expect(try FileCalls.read(file) == Array("new\n".utf8), "what is unsaved is read")
            let listed = try home.status().store("work").unsaved
            #expect(listed.map(\.path) == ["brand-new", "mail/imap"])
            #expect(listed.allSatisfy { $0.error.contains(named) }, "\(listed)")
            let told = try home.passdir("status")
            #expect(told.exitCode == 1 && told.output.contains("mail/imap"), "\(told)")

            for shell in ["bash", "dash"] {
                for name in ["mail/imap", "other"] {
                    let said = try home.run([shell, "-c", "echo x > \(home.visible("work/\(name)"))"])
                    #expect(
                        said.exitCode != 0 && said.errors.contains("cannot") || said.exitCode == 1, "\(said)")
                }
            }
            #expect(!FileCalls.exists(home.visible("work/other")))
            #expect(try home.passdir("status").output.contains("other: "))
            #expect(try FileCalls.read(file) == Array("new\n".utf8), "it was not truncated")

            let refusal = try home.passdir("unmount")
            #expect(refusal.exitCode == 1 && refusal.errors.hasPrefix("passdir: "))
            #expect(
                refusal.errors.contains("work/mail/imap") && refusal.errors.split(separator: "\n").count == 1)

            try trouble.mend(home, store)
            try home.waitUntil("the save is made up for") { try home.status().store("work").unsaved.isEmpty }
            #expect(try store.show("mail/imap") == Array("new\n".utf8))
            #expect(try store.show("brand-new") == [1])
            let mended = try home.passdir("status")
            #expect(mended.exitCode == 0 && !mended.output.contains("other: "), "\(mended)")
            try home.unmount()
            #expect(try store.git("status", "--porcelain", "--", "mail", "brand-new.gpg").isEmpty)
            #expect(try store.remoteGit("rev-parse", "main") == store.git("rev-parse", "HEAD"))
        }
    }

    /// Holds:
    /// - Unmounting is refused while a save is unsaved, unless `--discard-unsaved` is given.
    @Test func unmountingMayDiscardWhatIsUnsaved() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("s", "old\n")
            try home.addStores([store])
            try home.mount()
            let errors = try home.save(to: [home.visible("work/s")]) {
                try home.write("nobody@example.org\n", to: "work/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126)])
            #expect(try home.passdir("unmount").exitCode == 1)
            try home.unmount(discardUnsaved: true)
            #expect(try store.show("s") == Array("old\n".utf8))
        }
    }

    /// Holds:
    /// - When another program removes the folder of an unsaved secret, the secret stays unsaved and listed, and is
    ///   saved when there is such a folder again.
    @Test(.slow) func anUnsavedSecretOutlivesItsFolder() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try store.insert("top/team/s", "old\n")
            try home.configure(["save.retry": "200ms"])
            try home.addStores([store])
            try home.mount()
            let names = ["top/team/s", "top/team/brand-new"]
            let errors = try home.save("\u{7}", to: names.map { home.visible("work/\($0)") }) {
                try home.write("nobody@example.org\n", to: "work/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126), Errno(rawValue: 126)])
            try home.succeed(["rm", "-r", "work/top"])
            // Somebody looks and finds it gone; the recipients are mended; retries go on.
            try home.waitUntil("it is gone") { !FileCalls.exists(home.visible("work/top")) }
            try home.write("a@example.org\n", to: "work/.gpg-id")
            // Unmounting tries once more.
            #expect(try home.passdir("unmount").exitCode == 1)
            #expect(try home.status().store("work").unsaved.map(\.path) == names.sorted())
            #expect(!FileCalls.exists(home.path("work/top")))

            try FileCalls.makeDirectory(home.visible("work/top"))
            try FileCalls.makeDirectory(home.visible("work/top/team"))
            try home.waitUntil("they are saved") { try home.status().store("work").unsaved.isEmpty }
            for name in names {
                #expect(try store.show(name) == [7])
                #expect(try FileCalls.read(home.visible("work/\(name)")) == [7])
            }
            try home.unmount()
            #expect(try store.git("status", "--porcelain", "--", "top").isEmpty)
        }
    }

    /// An unsaved secret that is removed, or saved again elsewhere, is not unsaved any more.
    ///
    /// Holds:
    /// - Removing an unsaved secret gives it up; renaming it to where it can be encrypted saves it.
    @Test func removingAnUnsavedSecretEndsIt() throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("work", recipients: [key])
            try FileCalls.makeDirectory(store.path.appending("fine"))
            try home.write("a@example.org\n", to: "work/fine/.gpg-id")
            try home.addStores([store])
            try home.mount()
            let errors = try home.save("\u{7}", to: ["removed", "moved"].map { home.visible("work/\($0)") }) {
                try home.write("nobody@example.org\n", to: "work/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126), Errno(rawValue: 126)])
            try FileCalls.unlink(home.visible("work/removed"))
            try FileCalls.rename(home.visible("work/moved"), to: home.visible("work/fine/moved"))
            #expect(try home.status().store("work").unsaved.isEmpty)
            #expect(try store.show("fine/moved") == [7])
            try home.unmount()
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        part.count <= count
            && (0...(count - part.count)).contains { self[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
