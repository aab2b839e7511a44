import TestKit
import Testing

/// What is typed at a prompt of ours that hides it.
@Suite struct HiddenPromptTests {
    /// A shell with job control gives the terminal to whoever it brings back to the foreground, with its own modes.
    ///
    /// Holds:
    /// - What is typed at a hidden prompt is not shown, also where the command was stopped there and went on; a signal that
    ///   ends or stops it leaves the terminal as it was.
    @Test func aPromptThatWasStoppedStaysHidden() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try home.addStores([store])
            let question = "Password for work/new: "
            let modes = "stty -a | tr ' ' '\\n' | grep -x -e -echo -e echo | sed 's/^/now: /'\n"
            let shown = try home.onTerminal(
                ["bash", "--norc", "--noediting", "-i"],
                [
                    TerminalStep(at: "", type: "passdir insert work/new\n"),
                    TerminalStep(at: question, type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: "fg\n"),
                    TerminalStep(at: question, type: "hidden-one\n"),
                    TerminalStep(at: "Retype it: ", type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: modes),
                    TerminalStep(at: "now: echo\r", type: "bg; fg\n"),
                    TerminalStep(at: "Retype it: ", type: "hidden-one\n"),
                    TerminalStep(at: "saved work/new", type: "passdir insert -f work/new\n"),
                    TerminalStep(at: question, type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: "kill %1; wait %1; echo ended $?\n"),
                    TerminalStep(at: "ended 143", type: "exit\n"),
                ], extra: ["TERM": "dumb", "PS1": "at "])
            #expect(!shown.output.contains("hidden"), "\(shown.output)")
            #expect(try store.show("new") == Array("hidden-one\n".utf8), "\(shown.output)")
        }
    }

    /// Holds:
    /// - A question whose command was stopped there and goes on is asked anew.
    @Test func aQuestionIsAskedAnewAfterAStop() throws {
        try TestHome.with { home in
            let store = try home.makeStore("work", recipients: [try home.makeKey("a@example.org")])
            try store.insert("one", "text\n")
            try home.addStores([store])
            let shown = try home.onTerminal(
                ["bash", "--norc", "--noediting", "-i"],
                [
                    TerminalStep(at: "", type: "passdir rm work/one\n"),
                    TerminalStep(at: "[y/N] ", type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: "fg\n"),
                    TerminalStep(at: "[y/N] ", type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: "bg; fg\n"),
                    TerminalStep(at: "[y/N] ", type: "y\n"),
                    TerminalStep(at: "removed work/one", type: "exit\n"),
                ], at: "[y/N] ", extra: ["TERM": "dumb", "PS1": "at "])
            #expect(shown.output.contains("removed work/one"), "\(shown.output)")
            #expect(try store.git("ls-files", "*.gpg") == "", "\(shown.output)")
        }
    }
}
