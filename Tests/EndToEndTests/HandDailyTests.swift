import Glibc
import SystemPackage
import TestKit
import Testing

/// The commands for hands in daily use: what people type, and what they are told.
@Suite struct HandDailyTests {
    /// Holds:
    /// - A passphrase is asked for in the terminal that a command's keys come from, also where neither its input nor its output
    ///   is one and GPG_TTY is not set.
    @Test func thePassphraseIsAskedForInAPipe() throws {
        try HandStores.with(passphrase: "sesame") { home, stores in
            try stores[0].insert("one", "text\n")
            try home.write(
                """
                #!/bin/sh
                echo 'OK Pleased to meet you'
                while read -r word rest; do
                    case "$word" in
                    OPTION) case "$rest" in ttyname=*) tty="${rest#ttyname=}" ;; esac; echo OK ;;
                    GETPIN) echo "$tty" >> '\(home.path("asked"))'; echo 'D sesame'; echo OK ;;
                    BYE) echo OK; exit 0 ;;
                    *) echo OK ;;
                    esac
                done

                """, to: "pinentry", mode: [.ownerReadWriteExecute])
            try home.configureAgent("pinentry-program \(home.path("pinentry"))\n")
            try home.succeed(["gpgconf", "--kill", "gpg-agent"])
            for (name, value) in [("unset", ""), ("named", "not a tty")] {
                let script = """
                    tty > tty; gpgconf --kill gpg-agent
                    passdir show one </dev/null 2>/dev/null | cat
                    """
                let shown = try home.onTerminal(["sh", "-c", script], [], extra: ["GPG_TTY": value])
                #expect(shown.output == "text\n", "\(name): \(shown)")
                #expect(try home.text(of: "asked") == home.text(of: "tty"), "\(name)")
                unlink(home.path("asked").string)
            }
        }
    }

    /// Holds:
    /// - Where nothing can be copied, nothing is changed: no password is made, and no counted code is used up.
    @Test func nothingIsMadeForAMissingClipboard() throws {
        try HandStores.with { home, stores in
            let counted = "otpauth://hotp/x?secret=JBSWY3DPEHPK3PXP&counter=5\n"
            try stores[0].insert("otp", counted)
            for (words, extra) in [
                (["generate", "-c", "new"], [:]), (["otp", "-c", "otp"], [:]),
                (["show", "--otp", "-c", "otp"], [:]),
                (["generate", "-cf", "otp"], ["DISPLAY": ":987"]),
                (["otp", "-c", "otp"], ["DISPLAY": ":987"]),
                (["generate", "-c", "--for", "0s", "new"], ["DISPLAY": ":987"]),
            ] as [([String], [String: String])] {
                let done = try home.run(
                    ["passdir"] + words, extra: ["DISPLAY": "", "WAYLAND_DISPLAY": ""].merging(extra) { $1 })
                // A time that is none is wrong usage.
                let code: Int32 = words.contains("--for") ? 64 : 1
                #expect(done.exitCode == code && done.output.isEmpty, "\(words): \(done)")
                #expect(
                    done.errors.contains("nothing was") || done.errors.contains("from 1s to 24h"),
                    "\(words): \(done)")
            }
            #expect(try stores[0].show("otp") == Array(counted.utf8))
            #expect(!FileCalls.exists(stores[0].path.appending("new.gpg")))
            try home.succeed(["passdir", "otp", "otp"])
            #expect(try stores[0].git("log", "-1", "--format=%s") == "Increment HOTP counter for otp.")
        }
    }

    /// Holds:
    /// - `--at` takes a day, a moment, and how long ago that was.
    @Test(.slow) func earlierTextsAreFoundByTheirTimes() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", "old\n")
            // Its commits are from three weeks ago.
            try home.succeed(
                [
                    "sh", "-ec",
                    "GIT_COMMITTER_DATE=\"$(date -d '3 weeks ago')\" git commit -q --amend --no-edit --date=\"$(date -d '3 weeks ago')\"",
                ], in: stores[0].path)
            try stores[0].insert("one", "new\n")
            for (at, text) in [
                ("yesterday", "old\n"), ("2 weeks ago", "old\n"), ("a week ago", "old\n"), ("now", "new\n"),
                ("today", "new\n"), ("0 seconds ago", "new\n"), ("HEAD~1", "old\n"),
                ("0s", "new\n"), ("48 h", "old\n"), ("2d", "old\n"),
            ] {
                #expect(try home.passdir("show", "one", "--at", at).output == text, "\(at)")
                #expect(try home.passdir("restore", "one", "--show", "--at", at).output == text, "\(at)")
            }
            let days = try home.run(["date", "-d", "10 days ago", "+%F"]).output.split(separator: "\n")[0]
            for at in [String(days), "\(days) 12:00"] {
                #expect(try home.passdir("show", "one", "--at", at).output == "old\n", "\(at)")
            }
            #expect(try home.passdir("show", "one", "--at", "4 weeks ago").exitCode == 1)
            for nonsense in ["some time ago", "yesterdya ago", "HEAD~x", "..", "@{yesterdya}", "nosuch"] {
                let shown = try home.passdir("show", "one", "--at", nonsense)
                #expect(shown.exitCode == 1)
                #expect(
                    shown.errors.contains("\"\(nonsense)\" is not a day, time or commit"), "\(shown.errors)")
            }
        }
    }

    /// Holds:
    /// - PASSWORD_STORE_DIR is not used beside added stores, and that is said where it names none of them.
    @Test func theVariableOfPassIsNotPassedOver() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", "text\n")
            let other = try home.makeStore("other", recipients: [try home.makeKey("b@example.org")])
            let elsewhere = try home.passdir(
                "show", "one", extra: ["PASSWORD_STORE_DIR": other.path.string])
            #expect(elsewhere.exitCode == 0 && elsewhere.output == "text\n", "\(elsewhere)")
            #expect(
                elsewhere.errors.contains("PASSWORD_STORE_DIR is not used")
                    && elsewhere.errors.contains("--path \(other.path)"), "\(elsewhere)")
            let same = try home.passdir("show", "one", extra: ["PASSWORD_STORE_DIR": "work/"])
            #expect(same.exitCode == 0 && same.errors.isEmpty, "\(same)")
        }
    }

    /// Holds:
    /// - `edit` opens no editor for what cannot be read or is a folder, and leaves no folder of a secret that was not saved.
    @Test(.slow) func nothingIsEditedThatCannotBeRead() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("mail/imap", "text\n")
            try home.succeed(["sh", "-c", "echo broken > work/broken.gpg"])
            try home.mount()
            let editor = ["EDITOR": "touch \(home.path("opened")); true"]
            func edit(_ path: String) throws -> ProgramResult {
                try home.passdir("edit", path, extra: editor)
            }
            for (path, sentence) in [
                ("broken", "work/broken cannot be read: it contains no OpenPGP data"),
                ("work/mail", "is a folder"),
            ] {
                let done = try edit(path)
                #expect(done.exitCode == 1 && done.errors.contains(sentence), "\(done)")
                #expect(done.errors.split(separator: "\n").count == 1, "\(done)")
            }
            try home.succeed(["passdir", "lock"])
            let locked = try edit("mail/imap")
            #expect(
                locked.exitCode == 1 && locked.errors == "passdir: work is locked; passdir unlock work\n",
                "\(locked)")
            let searched = try home.passdir("grep", "text")
            #expect(searched.errors == "passdir: work is locked; passdir unlock work\n", "\(searched)")
            try home.succeed(["passdir", "unlock"])
            #expect(!FileCalls.exists(home.path("opened")))
            #expect(try edit("new/one").exitCode == 0)
            #expect(FileCalls.exists(home.path("opened")))
            #expect(!FileCalls.exists(stores[0].path.appending("new")))
            func told(_ editor: String) throws -> String {
                try home.onTerminal(["passdir", "edit", "mail/imap"], [], extra: ["EDITOR": editor]).output
            }
            #expect(try told("true") == "nothing changed in work/mail/imap\n")
            #expect(try told("sh -c 'echo new > \"$1\"' x") == "saved work/mail/imap\n")
            try home.unmount()
        }
    }

    /// Holds:
    /// - `ls`, `log` and `restore` find a path without a store's name, `restore` and `log` also what was removed.
    @Test(.slow) func pathsWithoutAStoreAreFound() throws {
        try HandStores.with(["work", "private"]) { home, stores in
            try stores[0].insert("other", "x\n")
            try stores[1].insert("mail/imap", "text\n")
            try stores[1].insert("mail/smtp", "x\n")
            #expect(try home.passdir("ls", "mail").output == "private/mail/imap\nprivate/mail/smtp\n")
            #expect(try home.passdir("ls", "nowhere").exitCode == 1)
            #expect(try home.passdir("log", "mail/imap").output.contains("Add given password for mail/imap"))
            try home.succeed(["passdir", "rm", "-f", "mail/imap"])
            #expect(try home.passdir("log", "mail/imap").output.contains("Remove mail/imap from store"))
            #expect(try home.passdir("show", "mail/imap", "--at", "HEAD~1").output == "text\n")
            try home.succeed(["passdir", "restore", "mail/imap", "--at", "HEAD~1"])
            #expect(try stores[1].show("mail/imap") == Array("text\n".utf8))
            for path in [
                "/mail/imap", "./mail/imap", "mail/imap.gpg", "/private/mail/imap", "./private/mail/imap.gpg",
            ] {
                #expect(try home.passdir("show", path).output == "text\n", "\(path)")
            }
            try home.succeed(["passdir", "insert", "-e", "private/new.gpg"], input: Array("x\n".utf8))
            #expect(FileCalls.exists(stores[1].path.appending("new.gpg")))
            let real = try home.passdir("show", "/etc/nothing")
            #expect(real.exitCode == 1 && real.errors.contains("not in any store"), "\(real)")
        }
    }

    /// Holds:
    /// - `mv` into a name that is a secret and a folder goes into the folder, as with pass.
    @Test func aFolderTakesInWhatIsMoved() throws {
        try HandStores.with { home, stores in
            for name in ["a", "b", "b/c"] { try stores[0].insert(name, "\(name)\n") }
            try home.succeed(["passdir", "mv", "a", "b"])
            #expect(try stores[0].show("b/a") == Array("a\n".utf8))
            #expect(try stores[0].show("b") == Array("b\n".utf8))
            try home.succeed(["passdir", "mv", "-f", "b/c", "b.gpg"])
            #expect(try stores[0].show("b") == Array("b/c\n".utf8))
        }
    }

    /// Holds:
    /// - Options bundle with `-q`, those of grep mean what they do there, and wrong usage is exit status 64.
    @Test(.slow) func optionsAreAsExpected() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("one", "text\nmore text\n")
            try stores[0].insert("two", "other\n")
            #expect(try home.passdir("grep", "-c", "text").output == "work/one:\n2\n")
            #expect(try home.passdir("grep", "-rl", "text").output == "work/one\n")
            #expect(try home.passdir("grep", "-L", "text").output == "work/two\n")
            for words in [["-q", "text"], ["-iq", "TEXT"], ["--quiet", "-r", "text"]] {
                let done = try home.run(["passdir", "grep"] + words)
                #expect(done.exitCode == 0 && done.output.isEmpty && done.errors.isEmpty, "\(words): \(done)")
            }
            #expect(try home.passdir("grep", "-q", "nowhere").exitCode == 1)
            for words in [
                ["grep"], ["grep", "a", "file"], ["grep", "--frob", "x"], ["grep", "["], ["show", "--frob"],
                ["insert"],
                ["generate", "x", "many"], ["hlep"], ["move", "a", "b"], ["version"],
            ] {
                let done = try home.run(["passdir"] + words)
                #expect(done.exitCode == EX_USAGE && done.output.isEmpty, "\(words): \(done)")
            }
            let removed = try home.onTerminal(["passdir", "rm", "-fq", "two"], [])
            #expect(removed.exitCode == 0 && removed.output.isEmpty, "\(removed)")
            #expect(!FileCalls.exists(stores[0].path.appending("two.gpg")))
            #expect(
                try home.passdir("rm", "--help").output.contains("\n  -q, --quiet             Do not say"))
            for (word, meant) in [
                ("move", "passdir mv"), ("hlep", "passdir help"), ("version", "passdir --version"),
                ("lst", "passdir list"), ("init", "--init --recipient KEY"), ("history", "passdir log"),
            ] {
                #expect(try home.passdir(word).errors.contains(meant), "\(word)")
            }
            #expect(try home.passdir("find", "ONE").output == "work/one\n")
            try stores[0].insert("Übung/ÉTÉ", "x\n")
            #expect(try home.passdir("find", "übung").output == "work/Übung/ÉTÉ\n")
            #expect(try home.passdir("find", "été").output == "work/Übung/ÉTÉ\n")
        }
    }

    /// Holds:
    /// - Commits of commands are by who the variables of git say.
    @Test func commitsAreByWhomTheVariablesName() throws {
        try HandStores.with { home, stores in
            try home.succeed(
                ["passdir", "insert", "-e", "one"], input: Array("x\n".utf8),
                extra: [
                    "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
                    "GIT_COMMITTER_NAME": "Bob",
                    "GIT_COMMITTER_EMAIL": "bob@example.org",
                ])
            #expect(
                try stores[0].git("log", "-1", "--format=%an %ae %cn %ce")
                    == "Ann ann@example.org Bob bob@example.org")
            try home.succeed(["passdir", "insert", "-e", "two"], input: Array("x\n".utf8))
            #expect(try !stores[0].git("log", "-1", "--format=%an %cn").contains("Ann"))
        }
    }

    /// Holds:
    /// - Without a store, commands say how to begin.
    @Test func withoutAStoreCommandsSayHowToBegin() throws {
        try TestHome.guarded { home in
            for words in [
                ["ls"], ["show", "x"], ["insert", "x"], ["find", "x"], ["grep", "x"], ["log"], ["edit", "x"],
                ["sync"], ["keys"], ["health"],
            ] {
                let done = try home.run(["passdir"] + words)
                #expect(done.exitCode == 1 && done.output.isEmpty, "\(words): \(done)")
                #expect(done.errors.hasPrefix("passdir: there is no store yet: "), "\(words): \(done)")
                let named = try home.run(
                    ["passdir"] + words, extra: ["PASSWORD_STORE_DIR": "/nowhere/at/all"])
                #expect(
                    named.exitCode == 1
                        && named.errors.contains("/nowhere/at/all, which PASSWORD_STORE_DIR names"),
                    "\(words): \(named)")
            }
            #expect(try home.passdir("list", "--json").output == "[]\n")
            let listed = try home.passdir("store", "list")
            #expect(
                listed.exitCode == 0 && listed.errors.hasPrefix("passdir: there is no store yet: "),
                "\(listed)")
        }
    }

    /// Holds:
    /// - bash and zsh put no space behind a folder, and bash completes an alias.
    @Test func foldersAreCompletedWithoutASpace() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("mail/imap", "x\n")
            let script = try home.succeed(["passdir", "--generate-completion-script", "bash"])
            try home.succeed(["sh", "-c", "cat > ~/completion.bash"], input: script)
            // A real shell at a terminal, as only readline puts spaces.
            try home.write(
                "PS1='ready> '; . ~/completion.bash; alias pass=passdir\ncomplete -o filenames -F _passdir_words pass\n",
                to: "rc")
            for name in ["passdir", "pass"] {
                let typed = try home.onTerminal(
                    ["bash", "--rcfile", home.path("rc").string, "-i"],
                    [
                        TerminalStep(at: "ready> ", type: "\(name) show work/ma\t"),
                        TerminalStep(at: "work/mail/", type: "im\t"),
                        TerminalStep(at: "imap ", type: "\n"), TerminalStep(at: "ready> ", type: "exit\n"),
                    ])
                #expect(typed.output.contains("\(name) show work/mail/imap \n"), "\(typed)")
            }
        }
    }

    /// What is typed at an interactive shell that completes passdir's commands.
    private func typed(
        in shell: [String], _ home: TestHome, _ steps: [TerminalStep]
    ) throws -> ProgramResult {
        let script = try home.succeed(["passdir", "--generate-completion-script", shell[0]])
        try home.succeed(["sh", "-c", "cat > ~/completion"], input: script)
        try home.write("PS1='ready> '; . ~/completion\n", to: "rc")
        try home.write(
            "PS1='ready> '; autoload -Uz compinit; compinit -D -u; . ~/completion\n", to: ".zshrc")
        return try home.onTerminal(shell.map { $0 == "rc" ? home.path("rc").string : $0 }, steps)
    }

    /// As pass calls them, and a secret behind `otp`.
    @Test(
        .slow, arguments: [["bash", "--rcfile", "rc", "-i"], ["zsh", "-d", "-i"]],
        ["delete -f work/a", "otp work/a", "otp uri work/a"])
    func commandsAreCompletedByEveryName(_ shell: [String], _ words: String) throws {
        try HandStores.with { home, stores in
            try stores[0].insert("abcdef", "x\n")
            let typed = try typed(
                in: shell, home,
                [
                    TerminalStep(at: "ready> ", type: "passdir \(words)\t"),
                    // The line is not run.
                    TerminalStep(at: "bcdef", type: "\u{15}exit\n"),
                ])
            #expect(typed.output.contains("\(words)bcdef"), "\(typed)")
        }
    }

    /// Holds:
    /// - fish completes behind every name of a command, by an alias, too, and a secret behind `otp`.
    @Test(.slow) func fishCompletesByEveryName() throws {
        try HandStores.with { home, stores in
            try stores[0].insert("abcdef", "x\n")
            let script = try home.succeed(["passdir", "--generate-completion-script", "fish"])
            try home.succeed(["sh", "-c", "cat > ~/completion.fish"], input: script)
            let lines = [
                "show work/a", "delete -f work/a", "otp work/a", "otp uri work/a", "otp append work/a",
                "otp u",
                "otp ", "rem",
            ]
            let asked = lines.flatMap { line in
                ["passdir", "pass"].map { "echo '== '; complete -C '\($0) \(line)'" }
            }
            try home.write(
                (["source ~/completion.fish", "alias pass=passdir"] + asked).joined(separator: "\n") + "\n",
                to: "asked.fish")
            let told = try home.onTerminal(
                ["fish", "--no-config", "-i", "-C", "source ~/asked.fish; exit"], [])
            let answers = told.output.split(separator: "== \n", omittingEmptySubsequences: false).dropFirst()
                .map {
                    $0.split(separator: "\n").map { $0.prefix { $0 != "\t" }.filter { !$0.isWhitespace } }
                }
            try #require(answers.count == asked.count, "\(told)")
            for (index, found) in answers.enumerated() {
                switch lines[index / 2] {
                case "otp u": #expect(found.contains("uri"), "\(found)")
                case "otp ": #expect(["code", "add", "uri"].allSatisfy(found.contains), "\(found)")
                case "rem": #expect(!found.contains("work/abcdef"), "\(found)")
                case let line: #expect(found.contains("work/abcdef"), "\(line): \(found)")
                }
            }
        }
    }

    /// Holds:
    /// - bash and zsh complete names with blanks, quotes and signs of theirs, and run nothing of them.
    @Test(.slow, arguments: [["bash", "--rcfile", "rc", "-i"], ["zsh", "-d", "-i"]])
    func everyNameIsCompleted(_ shell: [String]) throws {
        try HandStores.with { home, stores in
            try stores[0].insert("we b&c's: `touch ran` $(touch ran)", "all of it\n")
            let typed = try typed(
                in: shell, home,
                [
                    TerminalStep(at: "ready> ", type: "passdir show work/we\\ \t"),
                    TerminalStep(at: "ran\\) ", type: "\n"), TerminalStep(at: "all of it", type: "exit\n"),
                ])
            #expect(typed.exitCode == 0, "\(typed)")
            #expect(!FileCalls.exists(home.path("ran")))
        }
    }
}
