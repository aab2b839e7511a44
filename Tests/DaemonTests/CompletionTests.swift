import Glibc
import SystemPackage
import TestKit
import Testing

/// What shells offer for the words of a command.
@Suite struct CompletionTests {
    /// What the shell is offered for the last of the words.
    private func completions(_ home: TestHome, _ words: [String]) throws -> [String] {
        let script = try home.succeed(["passdir", "--generate-completion-script", "bash"])
        try home.succeed(["sh", "-c", "cat > ~/completion.bash"], input: script)
        let offered = try home.succeed(
            [
                "bash", "-c",
                """
                source ~/completion.bash
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
                COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
                _passdir passdir "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' "${COMPREPLY[@]}"
                """, "bash",
            ] + words)
        return String(decoding: offered, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func placesKeysAndCommitsAreCompleted() throws {
        try TestHome.with { home in
            let key = try home.makeKey("a@example.org")
            let (one, two) = (
                try home.makeStore("one", recipients: [key]), try home.makeStore("two", recipients: [key])
            )
            for text in ["first", "second"] { try one.insert("mail/imap", text) }
            try one.insert("mail/$(touch ran)", "x")
            let conflict = "post/x.conflict-host-20260102T030405Z"
            try two.insert(conflict, "x")
            try home.addStores([one, two])
            #expect(try completions(home, ["passdir", "show", "o"]) == ["one/"])
            #expect(try completions(home, ["passdir", "sync", "o"]) == ["one"])
            #expect(try completions(home, ["passdir", "sync", "--q"]) == ["--quiet"])
            #expect(try completions(home, ["passdir", "store", "list", "--h"]) == ["--help"])
            for (shell, option) in [("zsh", "'(-q --quiet)'{-q,--quiet}"), ("fish", "-s 'q' -l 'quiet'")] {
                let script = try home.passdir("--generate-completion-script", shell).output
                #expect(script.contains(option), "\(shell)")
            }
            #expect(try completions(home, ["passdir", "log", "one/ma"]) == ["one/mail/"])
            #expect(try completions(home, ["passdir", "restore", "one/mail/i"]) == ["one/mail/imap"])
            #expect(try completions(home, ["passdir", "recipients", "show", "one/ma"]) == ["one/mail/"])
            let commits = try one.git("log", "--format=%h", "--abbrev=10", "--", "mail/imap.gpg")
                .split(separator: "\n").map(String.init)
            #expect(try completions(home, ["passdir", "restore", "one/mail/imap", "--at", ""]) == commits)
            #expect(try completions(home, ["passdir", "restore", "mail/imap", "--at", ""]) == commits)
            #expect(
                try completions(home, ["passdir", "recipients", "add", "one", "a@"]) == ["a@example.org"])
            #expect(try completions(home, ["passdir", "store", "set", "one", "userN"]) == ["userName"])
            #expect(try completions(home, ["passdir", "show", "ma"]) == ["mail/"])
            #expect(try completions(home, ["passdir", "cp", "mail/i"]) == ["mail/imap"])
            // As pass calls them.
            for name in ["delete", "remove", "rename", "copy", "add"] {
                #expect(try completions(home, ["passdir", name, "mail/i"]) == ["mail/imap"], "\(name)")
            }
            #expect(try completions(home, ["passdir", "store", "rm", "o"]) == ["one"])
            #expect(try completions(home, ["passdir", "recipients", "list", "one/ma"]) == ["one/mail/"])
            let settle = ["passdir", "conflicts", "settle"]
            #expect(try completions(home, settle + ["po"]) == [conflict])
            #expect(try completions(home, settle + [""]) == ["two/\(conflict)"])
            #expect(try completions(home, ["passdir", "ls", "one/ma"]) == ["one/mail/"])
            #expect(try completions(home, ["passdir", "otp", "mail/i"]) == ["mail/imap"])
            #expect(try completions(home, ["passdir", "otp", "append", "mail/i"]) == ["mail/imap"])
            #expect(try completions(home, ["passdir", "otp", "uri", "mail/i"]) == ["mail/imap"])
            #expect(try completions(home, ["passdir", "otp", "ur"]) == ["uri"])
            // Nothing in a name is evaluated, whoever chose it.
            #expect(
                try completions(home, ["passdir", "show", "one/mail/"])
                    == ["one/mail/$(touch ran)", "one/mail/imap"])
            #expect(
                try completions(home, ["passdir", "show", "one/mail/\\$\\(t"]) == ["one/mail/$(touch ran)"])
            #expect(access(home.path("ran").string, F_OK) != 0)
        }
    }
}
