import SystemPackage
import TestKit
import Testing

/// What is typed wrong ends with 64, what fails with 1.
@Suite struct WrongUsageTests {
    @Test(.slow) func wrongValuesOfOptionsAreWrongUsage() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("one", "text\n")
            try home.addStores([store])
            let wrong: [[String]] = [
                ["generate", "work/two", "0"], ["generate", "work/two", "--words", "5000"],
                ["generate", "work/two", "--characters", "z-a"],
                ["show", "-c", "--for", "soon", "work/one"], ["run", "--env", "A", "--", "true"],
                ["list", "work", "--store", "work"], ["store", "set", "work", "commitDelay", "soon"],
                ["store", "set", "work", "colour", "red"], ["store", "move", "work", "--before", "work"],
                ["store", "add", "other", "--url", "ftp://host/x"],
                ["access", "log", "--since", "some time"], ["access", "set", "work", "--ask", "--for", "0s"],
                ["show", "-c"], ["show", "--first"], ["show", "--field", "x"], ["show", "--at", "yesterday"],
                ["access", "set", "work", "--allow", "--deny"], ["log", "--since", "some time"],
                ["health", "--older-than", "x"], ["credential", "set", "work", "--expires", "soon"],
            ]
            for words in wrong {
                let result = try home.run(["passdir"] + words)
                #expect(result.exitCode == 64 && result.output.isEmpty, "\(words): \(result)")
            }
            for words in [
                ["show", "work/two"], ["list", "--store", "none"],
                ["store", "move", "none", "--before", "work"],
            ] {
                #expect(try home.run(["passdir"] + words).exitCode == 1, "\(words)")
            }
            #expect(try home.succeed(["passdir", "list"]) == Array("work/one\n".utf8))
        }
    }

    /// A version or a repository that is not there is told of in our words, and not as if the secret could not be read.
    @Test(.slow) func libgit2sOwnWordsAreNotSaid() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("mail/imap", "text\n")
            try home.addStores([store])
            let list = "passdir log lists the commits"
            for (at, sentence) in [
                ("f57", "\"f57\" is too short for the id of a commit: type at least 4 of its digits"),
                ("1~2", "\"1\" is too short for the id of a commit: type at least 4 of its digits"),
                ("HEAD:mail", "\"HEAD:mail\" is a folder in git, and no commit: \(list)"),
                ("HEAD:mail/imap.gpg", "\"HEAD:mail/imap.gpg\" is a file in git, and no commit: \(list)"),
                ("HEAD^{tree}", "\"HEAD^{tree}\" is a folder in git, and no commit: \(list)"),
                ("nope", "\"nope\" is not a day, time or commit: \(list)"),
            ] {
                for words in [["show", "mail/imap"], ["restore", "mail/imap"]] {
                    let result = try home.run(["passdir"] + words + ["--at", at])
                    #expect(result.exitCode == 1 && result.errors == "passdir: \(sentence)\n", "\(result)")
                }
            }
            // Which moment was meant is said where nothing is found.
            let ago = try home.passdir("show", "mail/imap", "--at", "2h")
            #expect(ago.errors.contains("the history begins after 2h (20"), "\(ago)")
            let (folder, file) = (
                store.path.appending("mail").string, store.path.appending("mail/imap.gpg").string
            )
            for url in [
                "file:///nope", "/nope", "file://\(folder)", folder, "file://\(file)", "FILE:///nope",
                "./nope",
            ] {
                let result = try home.passdir("store", "add", "other", "--url", url)
                #expect(
                    result.exitCode == 1
                        && result.errors.hasSuffix(
                            ": there is no repository at this path; correct it, or make one there with git init --bare\n"
                        ),
                    "\(url): \(result)")
            }
        }
    }

    /// What a newcomer does not know of is said on a terminal, and no program has to read it.
    @Test(.slow) func aNewcomerIsToldWhatBecameOfIt() throws {
        try TestHome.guarded { home in
            let mount = try home.passdir("mount")
            #expect(
                mount.exitCode == 1 && mount.errors.contains("passdir store add NAME --url URL")
                    && mount.errors.contains("--init"), "\(mount)")
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("team/db", "text\n")
            try home.addStores([store])
            let note = "work/team/db is a secret, and work/team/db/ is a folder beside it now"
            let generated = try home.onTerminal(["passdir", "generate", "team/db/x"], [])
            #expect(generated.exitCode == 0 && generated.output.contains(note), "\(generated)")
            let again = try home.onTerminal(["passdir", "generate", "team/db/y"], [])
            #expect(again.exitCode == 0 && !again.output.contains("beside it"), "\(again)")
            try home.succeed(["passdir", "rm", "-rf", "team/db/"])
            let copied = try home.onTerminal(["passdir", "cp", "team/db", "work/team/db/z"], [])
            #expect(copied.output.contains(note), "\(copied)")
            try home.succeed(["passdir", "rm", "-rf", "team/db/"])
            let piped = try home.passdir("insert", "team/db/x", input: Array("text\n".utf8))
            #expect(piped.exitCode == 0 && piped.output.isEmpty && piped.errors.isEmpty, "\(piped)")

            try home.write("plain\n", to: "one.tpl")
            let added = try home.onTerminal(["passdir", "template", "add", "one", "one.tpl"], [])
            #expect(
                added.exitCode == 0 && added.output.contains("has no reference to a secret yet"), "\(added)")
            try home.succeed(["passdir", "link", "one", "link"])
            let removed = try home.onTerminal(["passdir", "template", "remove", "one"], [])
            #expect(removed.output.contains("/link leads nowhere now: passdir unlink "), "\(removed)")
            for (place, sentence) in [
                (
                    "nodir/x",
                    "there is no folder \(home.path("nodir")) for the link: make it first, or name another place"
                ),
                ("one.tpl/x", "\(home.path("one.tpl")) is no folder: name another place for the link"),
            ] {
                let result = try home.passdir("link", "team/db", place)
                #expect(result.exitCode == 1 && result.errors == "passdir: \(sentence)\n", "\(result)")
            }
            try home.succeed(["passdir", "unlink", "link"])
        }
    }

    /// What a command is called elsewhere leads to it at each level, by one table.
    @Test func commandsBelowOthersHaveOtherNames() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("mail/imap", "text\n")
            try home.addStores([store])
            for (words, command) in [
                (["credential", "delete"], "credential forget"), (["template", "rm"], "template remove"),
                (["store", "rm"], "store remove"), (["access", "list"], "access show"),
                (["recipients", "ls"], "recipients show"), (["delete"], "rm"),
            ] {
                let help = try home.run(["passdir", "help"] + words)
                #expect(help.output.contains("USAGE: passdir \(command) "), "\(words): \(help)")
            }
            try home.write("x", to: "file")
            try home.succeed(["passdir", "template", "add", "one", "file"])
            try home.succeed(["passdir", "template", "rm", "one"])
            #expect(try home.succeed(["passdir", "template", "ls"]).isEmpty)
            #expect(try home.passdir("recipients", "list", "work").output.hasPrefix("work: named in"))
            #expect(try home.run(["passdir", "access", "list"]).exitCode == 0)
            for (words, meant) in [
                (["recipients", "work"], "recipients show work"),
                (["recipients", "work/mail"], "recipients show work/mail"),
                (["store", "new"], "store add"), (["credential", "add"], "credential set"),
                (["keys", "export", "--nonsense"], nil), (["store", "remvoe"], "store remove"),
                (["template", "del"], "template remove"),
            ] as [([String], String?)] {
                let result = try home.run(["passdir"] + words)
                #expect(result.exitCode == 64 && result.output.isEmpty, "\(words): \(result)")
                guard let meant else { continue }
                #expect(
                    result.errors
                        == "passdir: there is no command \"\(words.joined(separator: " "))\": did you mean passdir \(meant)?\n",
                    "\(result)")
            }
        }
    }

    /// A misspelled option is named before what its command misses, a misspelled command where its default takes an argument,
    /// and a misspelled store where any path could stand.
    @Test(.slow) func misspelledWordsLeadToWhatIsMeant() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("lst/one", "text\n")
            try home.addStores([store])
            for (words, sentence) in [
                (["access", "set", "work", "--dney"], "there is no option \"--dney\": did you mean --deny?"),
                (["link", "--lst"], "there is no option \"--lst\": did you mean --list?"),
                (["status", "--quite"], "there is no option \"--quite\": did you mean --quiet?"),
                (["sync", "--thiers"], "there is no option \"--thiers\": did you mean --theirs?"),
                (["keys", "--hlep"], "there is no option \"--hlep\": did you mean --help?"),
                (
                    ["store", "add", "--frobnicate=1"],
                    "there is no option \"--frobnicate\": passdir help store add lists all"
                ),
                (["keys", "lts"], "there is no command \"keys lts\": did you mean passdir keys list?"),
                (
                    ["keys", "imprt", "x", "--dry-run"],
                    "there is no command \"keys imprt\": did you mean passdir keys import?"
                ),
                (
                    ["conflicts", "setle"],
                    "there is no command \"conflicts setle\": did you mean passdir conflicts settle?"
                ),
            ] {
                let result = try home.run(["passdir"] + words)
                #expect(result.exitCode == 64 && result.output.isEmpty, "\(words): \(result)")
                let line = result.errors.prefix { $0 != "\n" }
                #expect(line == "passdir: \(sentence)", "\(words): \(result)")
            }
            // A number below zero is the value of its option, which says what is wrong with it.
            for (words, sentence) in [
                (
                    ["run", "--evn", "X=work/one", "--", "true"],
                    "there is no option \"--evn\": did you mean --env?"
                ),
                (
                    ["run", "--evn", "X=work/one", "true"],
                    "there is no option \"--evn\": did you mean --env?"
                ),
                (["run", "true", "--dney"], "name the command behind '--'"),
                (["show", "--line", "-1", "work/lst/one"], "lines are counted from 1"),
                (["log", "-n", "-1"], "the number of commits must be greater than 0"),
                (["generate", "work/x", "-5"], "there is no option \"-5\": passdir help generate lists all"),
                (["log", "-j"], "there is no option \"-j\": passdir help log lists all"),
            ] {
                let result = try home.run(["passdir"] + words)
                let line = result.errors.prefix { $0 != "\n" }
                #expect(result.exitCode == 64 && line == "passdir: \(sentence)", "\(words): \(result)")
            }
            for words in [["keys", "wrok"], ["store", "show", "wrok"], ["sync", "wrok"]] {
                let result = try home.run(["passdir"] + words)
                #expect(
                    result.exitCode == 1 && result.errors.hasSuffix("; did you mean work?\n")
                        && result.errors.hasPrefix("passdir: there is no store \"wrok\""),
                    "\(words): \(result)")
            }
            for command in ["log", "list", "restore", "show"] {
                let result = try home.run(["passdir", command, "wrok"])
                #expect(result.exitCode == 1, "\(command): \(result)")
                #expect(
                    result.errors
                        == "passdir: there is no secret or folder \"wrok\" in the store \"work\"; did you mean the store work?\n",
                    "\(command): \(result)")
            }
            // A value is none, whatever it looks like.
            let value = try home.run(["passdir", "generate", "work/x", "--characters", "--az"])
            #expect(value.exitCode == 64 && !value.errors.contains("no option"), "\(value)")
            // What is there is no misspelling, and what another program gets is not looked at.
            #expect(try home.passdir("keys", "work").exitCode == 0)
            #expect(try home.passdir("list", "lst").output == "work/lst/one\n")
            let run = try home.run(["passdir", "run", "--env", "A", "--", "true", "--dney"])
            #expect(run.exitCode == 64 && !run.errors.contains("--dney"), "\(run)")
        }
    }

    /// Holds:
    /// - `..` is refused in the place of a store and in a reference, by one sentence in every command.
    @Test(.slow) func steppingUpIsRefusedEverywhere() throws {
        try TestHome.guarded { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("mail/imap", "text\n")
            try home.addStores([store])
            let places = ["work/../x", "work/mail/../mail/imap", "work/mail/.."]
            for place in places {
                let commands: [[String]] = [
                    ["show", place], ["list", place], ["log", place], ["otp", place], ["rm", "-f", place],
                    ["restore", place, "--at", "HEAD"], ["generate", place], ["mv", "work/mail/imap", place],
                    ["cp", place, "work/new"], ["access", "set", place, "--deny"],
                    ["access", "test", place, "--as", "/bin/cat"], ["recipients", "show", place],
                    ["recipients", "add", place, "a@example.org"], ["lock", place], ["unlock", place],
                    ["link", place, home.path("link").string], ["sync", place],
                ]
                for words in commands {
                    let result = try home.run(["passdir"] + words)
                    #expect(
                        result.exitCode == 1 && result.output.isEmpty
                            && result.errors
                                == "passdir: \(place) has \"..\" in it, which leads nowhere in a store: "
                                + "write STORE/PATH\n",
                        "\(words): \(result)")
                }
                let rendered = try home.run(
                    ["passdir", "render", "-"], input: Array("passdir://\(place)\n".utf8))
                #expect(
                    rendered.exitCode == 1
                        && rendered.errors.contains("has \"..\" in it, which leads nowhere in a store"),
                    "\(rendered)")
            }
            // In a path of files it is one of the shell's.
            let result = try home.run(
                ["passdir", "show", "../mail/imap"], in: store.path.appending("mail"))
            #expect(result.output == "text\n", "\(result)")
        }
    }
}
