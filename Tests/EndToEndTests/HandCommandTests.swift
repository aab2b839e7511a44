import Glibc
import SystemPackage
import TestKit
import Testing

/// The commands that show and change secrets, with a mount and without one.
@Suite struct HandCommandTests {
    private func withStores(
        _ names: [String] = ["work"], mounted: Bool = false, _ body: (TestHome, [TestStore]) throws -> Void
    ) throws {
        try TestHome.guarded { home in
            let key = try home.makeKey("a@example.org")
            let stores = try names.map { try home.makeStore($0, recipients: [key]) }
            try stores[0].insert("mail/imap", "first\nuser: me\nno end")
            try home.addStores(stores)
            if mounted { try home.mount() }
            try body(home, stores)
            if mounted { try home.unmount() }
        }
    }

    /// Holds:
    /// - `show` prints a secret byte for byte, a line of it with a newline, a folder as a list; what is not there is said.
    @Test(.slow) func aSecretIsShownByteForByte() throws {
        try withStores { home, stores in
            let bytes: [UInt8] = [0, 255, 13, 10, 27, 10]
            try stores[0].insert("bytes", bytes)
            for path in ["bytes", "work/bytes", stores[0].path.appending("bytes").string, "work/bytes.gpg"] {
                #expect(try home.passdir("show", path).standardOutput == bytes, "\(path)")
            }
            #expect(try home.passdir("show", "mail/imap").output == "first\nuser: me\nno end")
            #expect(try home.passdir("show", "--first", "mail/imap").output == "first\n")
            #expect(try home.passdir("show", "--line", "3", "mail/imap").output == "no end\n")
            #expect(try home.passdir("show", "mail").output == "work/mail/imap\n")
            #expect(try home.passdir("show", "work").output == "work/bytes\nwork/mail/imap\n")
            #expect(try home.passdir("show").output == "work/bytes\nwork/mail/imap\n")
            for (words, said) in [
                (["--line", "4", "mail/imap"], "work/mail/imap has no line 4, or it is empty"),
                (["mail/none"], "there is no secret or folder \"mail/none\" in the store \"work\""),
                (["work/none"], "there is no secret or folder \"none\" in the store \"work\""),
                (["../gnupg"], "../gnupg is not in any store"), ([".git"], "there is no secret"),
                (["--first", "mail"], "work/mail is a folder"),
            ] {
                let done = try home.run(["passdir", "show"] + words)
                #expect(done.exitCode == 1 && done.output.isEmpty && done.errors.contains(said), "\(done)")
                #expect(done.errors.filter(\.isNewline).count == 1, "\(done)")
            }
            try stores[0].insert("mail/imap", "later\n")
            #expect(try home.passdir("show", "mail/imap", "--at", "HEAD~1").output.hasPrefix("first\n"))
        }
    }

    /// Holds:
    /// - A path without a store is the one secret that has it; several are listed; a new one goes where a person says, who is
    ///   offered the store that was chosen last.
    @Test(.slow) func aPathWithoutAStoreIsLookedForInAll() throws {
        try withStores(["work", "private", "third"]) { home, stores in
            try stores[1].insert("only/here", "x\n")
            #expect(try home.passdir("show", "only/here").output == "x\n")
            try stores[2].insert("only/here", "y\n")
            let several = try home.passdir("show", "only/here")
            #expect(several.exitCode == 1)
            #expect(several.errors.contains("private/only/here, third/only/here"), "\(several)")
            #expect(try home.passdir("rm", "-f", "only/here").exitCode == 1)
            #expect(try home.passdir("show", "third/only/here").output == "y\n")

            let nobody = try home.passdir("insert", "-e", "new/one", input: Array("z\n".utf8))
            #expect(nobody.exitCode == 1 && nobody.errors.contains("work, private, third"), "\(nobody)")
            func insert(_ path: String, _ answer: String) throws -> String {
                try home.onTerminal(
                    ["passdir", "insert", "-e", path],
                    [
                        TerminalStep(at: "Which store", type: answer + "\n"),
                        TerminalStep(at: "Password for", type: "typed\n"),
                    ]
                ).output
            }
            #expect(try insert("new/one", "third").contains("1 work, 2 private, 3 third? [work]"))
            #expect(try stores[2].show("new/one") == Array("typed\n".utf8))
            #expect(try insert("new/two", "").contains("1 third, 2 work, 3 private? [third]"))
            #expect(try stores[2].show("new/two") == Array("typed\n".utf8))
            #expect(try insert("new/three", "fourth").contains("nothing was changed"))
            // One that is there is meant.
            try home.succeed(["passdir", "insert", "-ef", "new/two"], input: Array("again\n".utf8))
            #expect(try stores[2].show("new/two") == Array("again\n".utf8))
        }
    }

    /// Holds:
    /// - On a terminal a password is asked for twice and not shown; nothing is replaced unasked.
    @Test(.slow) func aPasswordIsTypedTwice() throws {
        try withStores { home, stores in
            func insert(_ words: [String], _ steps: [(String, String)]) throws -> ProgramResult {
                try home.onTerminal(
                    ["passdir", "insert"] + words, steps.map { TerminalStep(at: $0.0, type: $0.1) })
            }
            let one = try insert(["new"], [("Password for", "s3cr3t\n"), ("Retype it", "s3cr3t\n")])
            #expect(one.exitCode == 0 && !one.output.contains("s3cr3t"), "\(one)")
            #expect(try stores[0].show("new") == Array("s3cr3t\n".utf8))
            let two = try insert(["other"], [("Password for", "s3cr3t\n"), ("Retype it", "secret\n")])
            #expect(two.exitCode == 1 && two.output.contains("the two passwords differ"), "\(two)")
            let three = try insert(["new"], [("Replace it?", "n\n")])
            #expect(three.exitCode == 1, "\(three)")
            let four = try insert(
                ["new"], [("Replace it?", "y\n"), ("Password for", "b\n"), ("Retype it", "b\n")])
            #expect(four.exitCode == 0, "\(four)")
            #expect(try stores[0].show("new") == Array("b\n".utf8))
            let piped = try home.passdir("insert", "new", input: Array("c\nd\n".utf8))
            #expect(piped.exitCode == 1 && piped.errors.contains("--force"), "\(piped)")
            let twoLines = try home.passdir("insert", "-f", "new", input: Array("c\nd\n".utf8))
            #expect(twoLines.exitCode == 1 && twoLines.errors.contains("--multiline"), "\(twoLines)")
            #expect(try home.passdir("insert", "-f", "new").exitCode == 1)
            #expect(try stores[0].show("new") == Array("b\n".utf8))
        }
    }

    /// Holds:
    /// - What a command changes, the mount shows at once, and the other way; nothing that the mount holds unsaved is lost.
    @Test(.slow) func theMountShowsWhatCommandsDo() throws {
        try withStores(mounted: true) { home, stores in
            let file = home.visible("work/mail/imap")
            #expect(try FileCalls.read(file).starts(with: "first".utf8))
            try home.succeed(["passdir", "insert", "-ef", "mail/imap"], input: Array("second\n".utf8))
            #expect(try FileCalls.read(file) == Array("second\n".utf8))
            try FileCalls.save(Array("third\n".utf8), to: file)
            #expect(try home.passdir("show", "mail/imap").output == "third\n")
            // Not committed yet, and in the history all the same.
            try home.succeed(["passdir", "insert", "-ef", "mail/imap"], input: Array("fourth\n".utf8))
            #expect(try home.passdir("show", "mail/imap", "--at", "HEAD~1").output == "third\n")
            try home.succeed(["passdir", "mv", "mail/imap", "mail/other"])
            #expect(!FileCalls.exists(file))
            #expect(try FileCalls.read(home.visible("work/mail/other")) == Array("fourth\n".utf8))
            try home.succeed(["passdir", "edit", "mail/other"], extra: ["EDITOR": "sed -i s/fourth/fifth/"])
            #expect(try home.passdir("show", "mail/other").output == "fifth\n")
            try home.succeed(
                ["passdir", "edit", "new/one"], extra: ["EDITOR": "sh -c 'echo made > \"$1\"' x"])
            #expect(try home.passdir("show", "new/one").output == "made\n")
            try home.succeed(["passdir", "rm", "-f", "mail/other"])
            #expect(!FileCalls.exists(home.visible("work/mail/other")))
            try home.waitUntilCommitted(stores[0])

            // What cannot be saved waits in the mount.
            let list = try FileCalls.read(stores[0].path.appending(".gpg-id"))
            let open = try FileDescriptor.open(home.visible("work/new/one"), .writeOnly, options: .truncate)
            try open.writeAll("unsaved\n".utf8)
            // By no other program: one that ends would close the file, too.
            try FileCalls.save(
                Array("nobody@example.org\n".utf8), to: stores[0].path.appending(".gpg-id"))
            #expect(throws: Errno.self) { try open.close() }
            for words in [["insert", "-ef"], ["rm", "-f"]] {
                let done = try home.run(["passdir"] + words + ["new/one"], input: Array("x\n".utf8))
                #expect(done.exitCode == 1 && done.errors.contains("could not be saved"), "\(done)")
            }
            try FileCalls.save(list, to: stores[0].path.appending(".gpg-id"))
            // Which saves what could not be saved.
            _ = try home.passdir("sync")
            try home.waitUntil("the text is saved") {
                try home.passdir("show", "new/one").output == "unsaved\n"
            }
        }
    }

    /// Holds:
    /// - Without a mount `edit` says so, and leaves nothing.
    @Test func nothingIsEditedWithoutAMount() throws {
        try withStores { home, _ in
            let done = try home.passdir("edit", "mail/imap", extra: ["EDITOR": "false"])
            #expect(done.exitCode == 1 && done.errors.contains("passdir mount mounts your stores"), "\(done)")
        }
    }

    /// Holds:
    /// - Who may not read is shown nothing by any command, with a mount and without one; a locked store is not read.
    @Test(.slow, arguments: [false, true]) func rulesHoldForWhoStartsACommand(mounted: Bool) throws {
        try withStores(mounted: mounted) { home, stores in
            let agent = home.path("agent").string
            try home.succeed(["cp", "/bin/bash", agent])
            try home.succeed(["passdir", "access", "set", "work/mail", "--deny-under", "agent"])
            for command in [
                "show mail/imap", "show --first mail/imap", "show --at HEAD mail/imap", "cp mail/imap out",
                "mv mail/imap out", "mv mail elsewhere", "grep first", "show --qr mail/imap",
            ] {
                let done = try home.run([agent, "-c", "passdir \(command); exit $?"])
                #expect(done.exitCode == 1, "\(command): \(done)")
                #expect(!done.output.contains("first"), "\(command): \(done)")
                #expect(
                    done.errors.contains("the access rules refuse reading work/mail/imap"),
                    "\(command): \(done)")
            }
            #expect(
                try stores[0].git("log", "--format=%s", "-n", "1").contains(
                    "Add given password for mail/imap"))
            #expect(try home.passdir("show", "--first", "mail/imap").output == "first\n")
            let log = try home.passdir("access", "log").output
            #expect(log.contains("denied") && log.contains("agent"), "\(log)")
            // Within the place of the rule names may change.
            try home.succeed([agent, "-c", "passdir mv mail/imap mail/other; exit $?"])
            guard mounted else { return }
            try home.succeed(["passdir", "lock"])
            let locked = try home.passdir("show", "mail/other")
            #expect(locked.exitCode == 1 && locked.errors.contains("passdir unlock work"), "\(locked)")
            try home.succeed(["passdir", "insert", "-e", "new"], input: Array("x\n".utf8))
            try home.succeed(["passdir", "unlock"])
        }
    }

    /// Holds:
    /// - What gets a new name is encrypted to the recipients of its place, in the same store and in another one, whose commits
    ///   do not name the first.
    @Test(.slow) func movedSecretsAreForTheRecipientsOfTheirPlace() throws {
        try TestHome.guarded { home in
            let keys = try ["a", "b"].map { try home.makeKey("\($0)@example.org") }
            let work = try home.makeStore("work", recipients: [keys[0]])
            let team = try home.makeStore("team", recipients: [keys[1]])
            for name in ["one", "two", "dir/three", "dir/sub/four"] { try work.insert(name, "\(name)\n") }
            try FileCalls.makeDirectory(work.path.appending("both"))
            try home.write(keys.map { $0.fingerprint + "\n" }.joined(), to: "work/both/.gpg-id")
            try work.git("add", ".")
            try work.git("commit", "--quiet", "--message", "list")
            try home.addStores([work, team])
            func keyIDs(_ keys: [TestKey]) throws -> Set<String> {
                try Set(keys.flatMap { try home.encryptionKeyIDs(of: $0) })
            }
            try home.succeed(["passdir", "mv", "work/one", "work/both/"])
            #expect(try work.recipientKeyIDs(of: "both/one") == keyIDs(keys))
            try home.succeed(["passdir", "cp", "work/two", "team/copied"])
            #expect(try team.recipientKeyIDs(of: "copied") == keyIDs([keys[1]]))
            #expect(try work.show("two") == team.show("copied"))
            try home.succeed(["passdir", "mv", "work/dir", "team/"])
            #expect(try team.show("dir/sub/four") == Array("dir/sub/four\n".utf8))
            #expect(!FileCalls.exists(work.path.appending("dir")))
            let (ours, others) = (try work.git("log", "--format=%s"), try team.git("log", "--format=%s"))
            #expect(ours.hasPrefix("Remove dir from store.\nRename one to both/one.\n"), "\(ours)")
            #expect(!others.contains("work"), "\(others)")
            // A list of its own goes with its folder, and not with secrets one by one.
            try home.succeed(["passdir", "mv", "work/both", "work/moved"])
            #expect(FileCalls.exists(work.path.appending("moved/.gpg-id")))
            #expect(try work.git("status", "--porcelain").isEmpty)
            let done = try home.passdir("cp", "work/moved", "work/again")
            #expect(done.exitCode == 1 && done.errors.contains(".gpg-id"), "\(done)")
            // One that cannot be read ends it, and it is said how far it came.
            try home.write("no message\n", to: "team/dir/szz.gpg")
            let half = try home.passdir("cp", "team/dir", "work/half")
            #expect(
                half.exitCode == 1 && half.errors.contains("team/dir/szz")
                    && half.errors.contains("(1 of 3 secrets is copied already)"), "\(half)")
        }
    }

    /// Holds:
    /// - `grep` prints what grep(1) finds, below names; `find` finds any word; both say when there is nothing.
    @Test(.slow) func textsAndNamesAreFound() throws {
        try withStores(["work", "private"]) { home, stores in
            try stores[1].insert("Bank/card", "pin 1234\nuser: you\n")
            #expect(
                try home.passdir("grep", "user:").output
                    == "work/mail/imap:\nuser: me\nprivate/Bank/card:\nuser: you\n")
            #expect(try home.passdir("grep", "-c", "-i", "PIN").output == "private/Bank/card:\n1\n")
            let none = try home.passdir("grep", "nowhere")
            #expect(none.exitCode == 1 && none.output.isEmpty && none.errors.isEmpty, "\(none)")
            let wrong = try home.passdir("grep", "--frob", "x")
            #expect(
                wrong.exitCode == EX_USAGE && wrong.output.isEmpty && wrong.errors.contains("frob"),
                "\(wrong)")
            try home.succeed(["sh", "-c", "echo broken > '\(stores[0].path)/broken.gpg'"])
            let broken = try home.passdir("grep", "first")
            #expect(broken.exitCode == 1 && broken.output == "work/mail/imap:\nfirst\n", "\(broken)")
            #expect(
                broken.errors.contains(
                    "work/broken cannot be read: it contains no OpenPGP data; passdir restore work/broken"),
                "\(broken)")
            #expect(try home.passdir("find", "bank", "IMAP").output == "work/mail/imap\nprivate/Bank/card\n")
            #expect(try home.passdir("find", "c?rd").output == "private/Bank/card\n")
            #expect(try home.passdir("find", "nowhere").exitCode == 1)
        }
    }

    /// Holds:
    /// - A folder is removed with what is in it only when that was said, and not what is no secret; `restore` brings secrets back.
    @Test func aFolderIsRemovedWhenAskedTo() throws {
        try withStores { home, stores in
            try stores[0].insert("mail/smtp", "x\n")
            #expect(try home.passdir("rm", "-f", "mail").exitCode == 1)
            #expect(try home.passdir("rm", "-r", "mail").exitCode == 1)
            try home.write("notes", to: "work/mail/README.md")
            let foreign = try home.passdir("rm", "-rf", "mail")
            #expect(foreign.exitCode == 1 && foreign.errors.contains("work/mail/README.md"), "\(foreign)")
            #expect(try stores[0].show("mail/smtp") == Array("x\n".utf8))
            try FileCalls.unlink(stores[0].path.appending("mail/README.md"))
            // Saved and not committed yet.
            try home.succeed(["cp", "work/mail/smtp.gpg", "work/mail/new.gpg"])
            try home.succeed(["passdir", "rm", "-rf", "mail"])
            #expect(!FileCalls.exists(stores[0].path.appending("mail")))
            try home.succeed(["passdir", "restore", "work/mail", "--at", "HEAD~1"])
            #expect(try stores[0].show("mail/new") == Array("x\n".utf8))
        }
    }
}
