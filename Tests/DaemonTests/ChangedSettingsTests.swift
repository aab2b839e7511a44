import Glibc
import SystemPackage
import TestKit
import Testing

/// A setting of a mounted store changes: it stays mounted, with all that is open and unsaved of it.
@Suite struct ChangedSettingsTests {
    /// What docs/stores.md says of `store set`.
    @Test func whatIsUnsavedStaysInItsPlace() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            try one.insert("mail/imap", "old\n")
            try one.git("push", "-q")
            try home.addStores([one])
            try home.mount()
            let mail = home.mountPoint.pushing("one/mail/imap")
            let reader = try FileDescriptor.open(mail, .readOnly)
            let files = ["new", "mail/imap"].map { home.mountPoint.pushing(FilePath("one/\($0)")) }
            let errors = try home.save(to: files) {
                try home.write("a@example.org\nnobody@example.org\n", to: "one/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126), Errno(rawValue: 126)])
            try home.succeed(["passdir", "store", "set", "one", "userName", "me"])
            for name in ["new", "mail/imap"] {
                let file = home.mountPoint.pushing(FilePath("one/\(name)"))
                #expect(try home.bytes(at: file) == Array("text\n".utf8), "\(name)")
            }
            let status = try home.passdir("status").output
            #expect(status.contains("unsaved  mail/imap: ") && status.contains("unsaved  new: "), "\(status)")
            var byte: UInt8 = 0
            #expect(try withUnsafeMutableBytes(of: &byte) { try reader.read(into: $0) } == 1)
            try reader.close()
            try home.write("a@example.org\n", to: "one/.gpg-id")
            let result = try home.passdir("sync")
            #expect(result.exitCode == 0, "\(result)")
            #expect(try one.git("status", "--short").isEmpty)
            for name in ["new", "mail/imap"] {
                #expect(try one.show(name) == Array("text\n".utf8), "\(name)")
            }
            #expect(try one.git("ls-files", "*.gpg") == "mail/imap.gpg\nnew.gpg")
            try home.unmount()
        }
    }

    /// The other keyring has the key that the first one lacks: what could not be saved is, at once.
    @Test(.slow) func anotherKeyringSavesWhatTheFirstCouldNot() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key])
            try one.insert("a", "old\n")
            try home.addStores([one])
            let other = home.path("k2")
            try home.succeed(["mkdir", "-m", "700", other.string])
            let public_ = try home.succeed(["gpg", "--export", "a@example.org"])
            let secret = try home.succeed(["gpg", "--export-secret-keys", "a@example.org"])
            for bytes in [public_, secret] {
                try home.succeed(["gpg", "--homedir", other.string, "--batch", "--import"], input: bytes)
            }
            let theirs = [
                "--homedir", other.string, "--batch", "--passphrase", "", "--quick-gen-key", "b@example.org",
                "default", "default", "never",
            ]
            try home.succeed(["gpg"] + theirs)
            defer { _ = try? home.run(["gpgconf", "--homedir", other.string, "--kill", "all"]) }
            try home.mount()
            let folder = home.mountPoint.appending("one")
            #expect(try home.bytes(at: folder.appending("a")) == Array("old\n".utf8))
            let errors = try home.save(to: [folder.appending("a")]) {
                try home.write("a@example.org\nb@example.org\n", to: "one/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126)])
            // Only this store's newer version is to be shown, whichever keyring could save it some day.
            try home.succeed(["passdir", "store", "set", "one", "keyring", other.string])
            #expect(try home.bytes(at: folder.appending("a")) == Array("text\n".utf8))
            #expect(try home.passdir("status").output.contains("unsaved") == false)
            try home.waitUntil("it is committed") {
                try one.git("diff", "--name-only", "HEAD", "--", "a.gpg").isEmpty
            }
            #expect(try one.recipientKeyIDs(of: "a").count == 2)
            try home.unmount()
        }
    }

    @Test func aShorterDelayCountsAtOnce() throws {
        try TestHome.with { home in
            let one = try home.makeStore("one", recipients: [try home.makeKey("a@example.org")])
            try one.insert("a", "old\n")
            try home.addStores([one])
            try home.succeed(["passdir", "store", "set", "one", "commitDelay", "1h"])
            try home.mount()
            let secret = home.mountPoint.pushing("one/a").string
            for (text, delay) in [("first", "1h"), ("second", "50ms"), ("third", "50ms")] {
                try home.succeed(["passdir", "store", "set", "one", "commitDelay", delay])
                try home.succeed(["sh", "-c", "echo \(text) > \"$0\"", secret])
                if delay == "1h" { continue }
                try home.waitUntil("\(text) is committed") {
                    try one.git("diff", "--name-only", "HEAD").isEmpty
                        && one.show("a") == Array("\(text)\n".utf8)
                }
            }
            try home.unmount()
        }
    }

    /// While a store is hidden its remote is asked for nothing.
    @Test(.slow) func aHiddenStoreIsNotFetchedAnyMore() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            let two = try home.makeStore("two", recipients: [key], remote: true)
            for store in [one, two] {
                try store.insert("a", "old\n")
                try store.git("push", "-q")
            }
            try home.addStores([one, two])
            try home.succeed(["git", "config", "-f", "config/passdir/config", "sync.interval", "1s"])
            try home.mount()
            for name in ["one", "two"] {
                _ = try home.bytes(at: home.mountPoint.pushing(FilePath("\(name)/a")))
            }
            func comes(_ name: String, to stores: [TestStore]) throws {
                for store in stores {
                    let clone = home.path("\(store.path.lastComponent!.string)-\(name)").string
                    try home.succeed(["git", "clone", "-q", try #require(store.remote).string, clone])
                    let change = "cp a.gpg \(name).gpg && git add . && git commit -qm \(name) && git push -q"
                    try home.succeed(["sh", "-c", "cd '\(clone)' && \(change)"])
                }
            }
            func has(_ store: TestStore, _ name: String) throws -> Bool {
                try store.git("ls-files").split(separator: "\n").contains("\(name).gpg")
            }
            try comes("b", to: [one, two])
            try home.waitUntil("both are fetched") { try has(one, "b") && has(two, "b") }
            try home.succeed(["passdir", "store", "hide", "one"])
            // A fetch that began before may still be under way; a whole round of the other store later none is.
            try home.waitUntil("it is hidden") { access(home.mountPoint.appending("one").string, F_OK) != 0 }
            try comes("later", to: [two])
            try home.waitUntil("the other one is fetched") { try has(two, "later") }
            for name in ["c", "d", "e"] {
                try comes(name, to: [one, two])
                try home.waitUntil("the other one is fetched") { try has(two, name) }
            }
            #expect(try !has(one, "c"))
            try home.succeed(["passdir", "store", "unhide", "one"])
            _ = try home.bytes(at: home.mountPoint.pushing("one/a"))
            try home.waitUntil("it is fetched again") { try has(one, "e") }
            try home.unmount()
        }
    }
}
