import Glibc
import SystemPackage
import TestKit
import Testing

/// What the commands for hands must not do: write where others choose, lose a text, steer a terminal, ask without end.
@Suite struct HandSafetyTests {
    /// Holds:
    /// - A folder that others push takes no new secret: without a store's name only a secret that is there says where one
    ///   belongs, and else a person, by the store's name or number.
    @Test(.slow) func aFolderOfOthersTakesNoNewSecret() throws {
        try HandStores.with(["team", "own"]) { home, stores in
            try stores[0].insert("bank/bait", "x\n")
            let words = [
                ["insert", "-e", "bank"], ["generate", "bank"],
                ["otp", "add", "bank", "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"], ["edit", "bank"],
            ]
            for words in words {
                let done = try home.run(
                    ["passdir"] + words, input: Array("pw\n".utf8), extra: ["EDITOR": "true"])
                #expect(done.exitCode == 1 && done.output.isEmpty, "\(words): \(done)")
                #expect(done.errors.contains("there are: team, own"), "\(words): \(done)")
            }
            #expect(!FileCalls.exists(stores[0].path.appending("bank.gpg")))
            let asked = try home.onTerminal(
                ["passdir", "insert", "-e", "bank"],
                [
                    TerminalStep(at: "Which store is bank for: 1 team, 2 own? [team]", type: "2\n"),
                    TerminalStep(at: "Password for own/bank", type: "pw\n"),
                ])
            #expect(asked.exitCode == 0, "\(asked)")
            #expect(try stores[1].show("bank") == Array("pw\n".utf8))
            // Now there is one.
            try home.succeed(["passdir", "insert", "-ef", "bank"], input: Array("new\n".utf8))
            #expect(try stores[1].show("bank") == Array("new\n".utf8))
            #expect(!FileCalls.exists(stores[0].path.appending("bank.gpg")))
        }
    }

    /// Holds:
    /// - No command replaces or removes a text that no commit holds, as git ignores its file, unless a person agrees to that.
    @Test(.slow) func whatGitIgnoresIsNotLost() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("known", "1\n")
            try home.write("/private*\n", to: "work/.git/info/exclude")
            try home.succeed(["passdir", "insert", "-e", "private"], input: Array("mine\n".utf8))
            try home.succeed(["passdir", "insert", "-e", "dir/private"], input: Array("x\n".utf8))
            try home.write("private.gpg\n", to: "work/.git/info/exclude")
            for words in [
                ["insert", "-ef", "private"], ["generate", "-f", "private"], ["generate", "-i", "private"],
                ["cp", "-f", "known", "private"], ["mv", "-f", "known", "private"], ["rm", "-f", "private"],
            ] {
                let done = try home.run(["passdir"] + words, input: Array("new\n".utf8))
                #expect(done.exitCode == 1 && done.output.isEmpty, "\(words): \(done)")
                #expect(
                    done.errors.contains("nothing was changed: git ignores work/private, so no commit holds"),
                    "\(words): \(done)")
                #expect(try stores[0].show("private") == Array("mine\n".utf8), "\(words)")
                #expect(try stores[0].show("known") == Array("1\n".utf8), "\(words)")
            }
            // Its new name holds it.
            try home.succeed(["passdir", "mv", "private", "moved"])
            try home.succeed(["passdir", "mv", "moved", "private"])
            #expect(try stores[0].show("private") == Array("mine\n".utf8))
            let agreed = try home.onTerminal(
                ["passdir", "rm", "-f", "private"],
                [TerminalStep(at: "Remove it for good? [y/N]", type: "y\n")])
            #expect(agreed.exitCode == 0, "\(agreed)")
            #expect(!FileCalls.exists(stores[0].path.appending("private.gpg")))
        }
    }

    private static let attack =
        Array("pw\u{1B}]0;title\u{7}\u{1B}[31m\u{9B}2J\r\u{202E}x\u{8}\n\tuser: me\r\n".utf8) + [0x9B, 10]

    /// Holds:
    /// - On a terminal no text of a secret steers it, whatever command shows it; in a pipe it is byte for byte.
    @Test(.slow) func noTextSteersATerminal() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", Self.attack)
            try stores[0].insert(
                "otp", "otpauth://totp/x\u{1B}[31m?secret=JBSWY3DPEHPK3PXP\n")
            #expect(try home.passdir("show", "one").standardOutput == Self.attack)
            #expect(try home.passdir("grep", "-a", "user").standardOutput.contains(13))
            for words in [
                ["show", "one"], ["show", "--line", "1", "one"], ["grep", "-a", "pw"], ["grep", "-an", "."],
                ["otp", "uri", "otp"], ["restore", "--show", "--at", "HEAD", "work/one"],
            ] {
                let shown = try home.onTerminal(["passdir"] + words, [])
                var bytes = shown.standardOutput
                // Of grep, which colours what matches.
                for colour in ["\u{1B}[01;31m", "\u{1B}[m"] {
                    bytes = bytes.split(separator: Array(colour.utf8)).flatMap(\.self)
                }
                #expect(shown.exitCode == 0 || words[0] == "otp", "\(words): \(shown)")
                let isSeen = bytes.allSatisfy { $0 == 9 || $0 == 10 || $0 >= 0x20 && $0 != 0x7F }
                #expect(
                    isSeen && String(validating: bytes, as: UTF8.self) != nil,
                    "\(words): \(shown.output.debugDescription)")
                #expect(shown.output.contains("\\u{1B}"), "\(words): \(shown.output.debugDescription)")
            }
            let found = try home.onTerminal(["passdir", "grep", "-a", "pw"], [])
            #expect(
                found.output.contains("\u{1B}[01;31mpw\u{1B}[m\\u{1B}]0;title"),
                "\(found.output.debugDescription)")
        }
    }

    /// Holds:
    /// - While the mount holds text of a secret that is not saved, commands show that text.
    @Test func theTextThatOnlyTheMountHasIsShown() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", "on disk\n")
            try home.mount()
            let list = try FileCalls.read(stores[0].path.appending(".gpg-id"))
            let open = try FileDescriptor.open(home.visible("work/one"), .writeOnly, options: .truncate)
            try open.writeAll("unsaved\n".utf8)
            // By no other program: one that ends would close the file, too.
            try FileCalls.save(
                Array("nobody@example.org\n".utf8), to: stores[0].path.appending(".gpg-id"))
            #expect(throws: Errno.self) { try open.close() }
            #expect(try home.passdir("show", "one").output == "unsaved\n")
            #expect(try home.passdir("grep", "unsaved").output == "work/one:\nunsaved\n")
            #expect(try home.passdir("grep", "disk").exitCode == 1)
            try FileCalls.save(list, to: stores[0].path.appending(".gpg-id"))
            _ = try home.passdir("sync")
            try home.waitUntil("the text is saved") { try stores[0].show("one") == Array("unsaved\n".utf8) }
            try home.unmount()
        }
    }

    /// Holds:
    /// - A command that is killed while it removes a secret leaves it as a conflict, which lists show; one that cannot encrypt
    ///   leaves no folder.
    @Test func nothingHiddenIsLeft() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("mail/imap", "x\n")
            let killed = try home.run(
                ["passdir", "rm", "-f", "mail/imap"], extra: ["PASSDIR_FAULT": "secret.aside"])
            #expect(killed.exitCode == 128 + SIGKILL, "\(killed)")
            let listed = try home.passdir("list").output
            #expect(listed.hasPrefix("work/mail/imap.conflict-"), "\(listed)")
            #expect(try home.passdir("show", String(listed.dropLast())).output == "x\n")
            #expect(
                try home.run(["find", stores[0].path.string, "-name", ".passdir*"]).output.isEmpty)
            try FileCalls.save(
                Array("nobody@example.org\n".utf8), to: stores[0].path.appending(".gpg-id"))
            for words in [["insert", "-e", "a/b/c"], ["generate", "a/b/c"]] {
                #expect(try home.run(["passdir"] + words, input: Array("x\n".utf8)).exitCode == 1)
            }
            #expect(!FileCalls.exists(stores[0].path.appending("a")))
        }
    }

    /// Holds:
    /// - A prompt that nobody answers, or that is closed, is shown once a run, and the other secrets of its key are counted.
    @Test(.slow, arguments: [TestPinentry.Behaviour.cancel, .block("sesame")])
    func aRefusedPromptIsShownOnce(_ behaviour: TestPinentry.Behaviour) throws {
        try HandStores.with(passphrase: "sesame") { home, stores in
            for name in ["one", "two", "three"] { try stores[0].insert(name, "text\n") }
            try home.configure(["prompt.timeout": "2s"])
            let pinentry = try home.usePinentry(behaviour)
            defer { try? pinentry.release() }
            let found = try home.passdir("grep", "text")
            #expect(found.exitCode == 1 && found.output.isEmpty, "\(found)")
            #expect(pinentry.promptCount() == 1)
            let lines = found.errors.split(separator: "\n")
            #expect(lines.count == 2, "\(found)")
            #expect(lines.first?.hasPrefix("passdir: work/one cannot be read: ") == true, "\(found)")
            #expect(
                lines.last
                    == "passdir: 2 more secrets are not searched: nobody entered the passphrase of their key",
                "\(found)")
        }
    }

    /// Holds:
    /// - `access set --deny a,b` is a rule for each of the programs.
    @Test func severalProgramsAreDenied() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", "text\n")
            try home.succeed(["passdir", "access", "set", "work", "--deny", "/usr/bin/cat,head"])
            let rules = try home.passdir("access", "show").output
            #expect(
                rules.contains("deny /usr/bin/cat\n") && rules.contains("deny /usr/bin/head\n"), "\(rules)")
            try home.mount()
            for program in ["cat", "head"] {
                #expect(try home.run([program, home.visible("work/one").string]).exitCode == 1)
            }
            try home.succeed(["passdir", "access", "unset", "work", "cat,head"])
            #expect(try home.run(["cat", home.visible("work/one").string]).output == "text\n")
            #expect(try home.passdir("access", "set", "work", "--deny", "cat,").exitCode == EX_USAGE)
            try home.unmount()
        }
    }
}
