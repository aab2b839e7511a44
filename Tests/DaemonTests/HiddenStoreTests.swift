import Glibc
import SystemPackage
import TestKit
import Testing

/// What cannot be saved stays within reach when its store is hidden, and what hiding a store means is said.
@Suite struct HiddenStoreTests {
    /// Two stores; in one of them a new secret and an edit of another could not be saved.
    private func unsaved(_ body: (TestHome, TestStore) throws -> Void) throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let one = try home.makeStore("one", recipients: [key], remote: true)
            let two = try home.makeStore("two", recipients: [key])
            try one.insert("mail/imap", "old\n")
            try one.git("push", "-q")
            try home.addStores([one, two])
            try home.succeed(["git", "config", "-f", "config/passdir/config", "save.retry", "1s"])
            try home.mount()
            let files = ["new", "mail/imap"].map { home.mountPoint.pushing(FilePath("one/\($0)")) }
            let errors = try home.save(to: files) {
                try home.write("a@example.org\nnobody@example.org\n", to: "one/.gpg-id")
            }
            #expect(errors == [Errno(rawValue: 126), Errno(rawValue: 126)])
            try body(home, one)
        }
    }

    private func names(_ home: TestHome) throws -> [String] {
        String(decoding: try home.succeed(["ls", home.mountPoint.string]), as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    @Test(.slow) func aStoreWithUnsavedSecretsIsNotHidden() throws {
        try unsaved { home, _ in
            var result = try home.passdir("store", "hide", "one")
            #expect(result.exitCode == 1)
            #expect(
                result.errors.hasPrefix(
                    "passdir: one/mail/imap, one/new could not be saved and are in memory only: "),
                "\(result.errors)")
            #expect(try names(home) == ["one", "two"])
            let list = try home.passdir("store", "list").output
            #expect(list.contains("one ") && !list.contains("hidden"), "\(list)")
            // As the sentence says; removing one gives its text up as well.
            #expect(result.errors.hasSuffix("or drop the text with passdir discard one/mail/imap\n"))
            try home.succeed(["passdir", "discard", "one/mail/imap"])
            try home.succeed(["rm", home.mountPoint.pushing("one/new").string])
            result = try home.onTerminal(["passdir", "store", "hide", "one"], [])
            #expect(result.exitCode == 0 && result.output.contains("passdir store unhide one"), "\(result)")
            #expect(try names(home) == ["two"])
            #expect(try home.passdir("status").output.contains("hidden   one: not fetched or pushed until"))
            result = try home.passdir("sync", "one")
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("is hidden in the mount"), "\(result.errors)")
            try home.unmount()
        }
    }

    /// The disk of a store that is hidden can be unmounted as soon as no program has a file of it open.
    @Test(.enabled(if: geteuid() == 0, "only root sees what a daemon has open"))
    func aHiddenStoreKeepsNoDiskBusy() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let store = try home.makeStore("one", recipients: [key])
            try store.insert("mail/imap", "old\n")
            try home.addStores([store])
            try home.succeed(["git", "config", "-f", "config/passdir/config", "save.retry", "1s"])
            try home.mount()
            let daemon = try #require(home.daemons().first)
            let folder = home.path("one").string
            func open() throws -> [String] {
                let links = try home.run(["sh", "-c", "ls -l /proc/\(daemon)/fd; cat /proc/\(daemon)/maps"])
                return links.output.split(separator: "\n").map(String.init).filter { $0.contains(folder) }
            }
            let script =
                "exec 3<>mnt/one/mail/imap; cat <&3; passdir store hide one; while [ ! -e go ]; do sleep 0.05; done; echo new >&3"
            let editor = try home.start(["bash", "-c", script])
            try home.waitUntil("it is hidden") { try names(home).isEmpty }
            #expect(try !open().isEmpty)
            try home.write("", to: "go")
            #expect(try editor.wait().exitCode == 0)
            #expect(try store.show("mail/imap") == Array("old\nnew\n".utf8))
            try home.waitUntil("it is committed") { try store.git("status", "--porcelain").isEmpty }
            try home.waitUntil("the folder is let go of") { try open().isEmpty }
            try home.succeed(["passdir", "store", "unhide", "one"])
            #expect(
                try home.succeed(["cat", "mnt/one/mail/imap"]) == Array("old\nnew\n".utf8))
            try home.unmount()
        }
    }

    /// Who edits the configuration is not asked: what is unsaved is told, and is there again with the store.
    @Test(.slow) func unsavedSecretsComeBackWithTheirStore() throws {
        try unsaved { home, one in
            try home.succeed(["git", "config", "-f", "config/passdir/config", "store.one.mount", "false"])
            try home.waitUntil("the store is hidden") { try names(home) == ["two"] }
            var result = try home.passdir("status")
            #expect(result.output.contains("unsaved  mail/imap: "), "\(result.output)")
            #expect(result.output.contains("note     it is hidden in the mount: passdir store unhide one"))
            result = try home.passdir("sync")
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("one: mail/imap and 1 more are not saved: "), "\(result.errors)")
            #expect(result.errors.contains("; it is hidden in the mount: "), "\(result.errors)")
            result = try home.passdir("unmount")
            #expect(result.exitCode == 1 && result.errors.contains("one/mail/imap"), "\(result.errors)")
            try home.succeed(["passdir", "store", "unhide", "one"])
            for name in ["new", "mail/imap"] {
                let file = home.mountPoint.pushing(FilePath("one/\(name)"))
                #expect(try home.bytes(at: file) == Array("text\n".utf8))
            }
            let mail = home.mountPoint.pushing("one/mail").string
            #expect(try home.succeed(["ls", mail]) == Array("imap\n".utf8))
            try home.succeed(["sh", "-c", "rm '\(mail)/imap' && mkdir '\(mail)/more'"])
            try home.write("a@example.org\n", to: "one/.gpg-id")
            try home.waitUntil("it is saved and pushed") {
                try one.remoteGit("ls-tree", "-r", "--name-only", "main").hasSuffix(".gpg-id\nnew.gpg")
            }
            #expect(try one.show("new") == Array("text\n".utf8))
            try home.unmount()
        }
    }
}
