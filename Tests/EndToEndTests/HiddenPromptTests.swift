import TestKit
import Testing

/// What is typed at a prompt of ours that hides it.
@Suite struct HiddenPromptTests {
    /// In the background it stops once more, which is waited for: a stop that comes behind `fg` is the shell's race.
    private static let byTheBackground =
        "bg; until grep -q 'State:.T' /proc/$(jobs -p %1)/status; do sleep 0.02; done; fg\n"
    /// `wait` says 148 while the job is stopped still.
    private static let killed =
        "kill %1; s=148; while ((s == 148)); do wait %1 2>/dev/null; s=$?; done; echo ended $s\n"

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
                    TerminalStep(at: "now: echo\r", type: Self.byTheBackground),
                    TerminalStep(at: "Retype it: ", type: "hidden-one\n"),
                    TerminalStep(at: "saved work/new", type: "passdir insert -f work/new\n"),
                    TerminalStep(at: question, type: "\u{1A}"),
                    TerminalStep(at: "Stopped", type: Self.killed),
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
                    TerminalStep(at: "Stopped", type: Self.byTheBackground),
                    TerminalStep(at: "[y/N] ", type: "y\n"),
                    TerminalStep(at: "removed work/one", type: "exit\n"),
                ], at: "[y/N] ", extra: ["TERM": "dumb", "PS1": "at "])
            #expect(shown.output.contains("removed work/one"), "\(shown.output)")
            #expect(try store.git("ls-files", "*.gpg") == "", "\(shown.output)")
        }
    }
}
