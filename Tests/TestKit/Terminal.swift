import SystemPackage

/// What a person does at a terminal: waits until it shows something, does something elsewhere, types.
public struct TerminalStep: Sendable {
    /// What the terminal must show anew since the last step; empty: nothing is waited for.
    let text: String
    /// A shell script that runs before anything is typed; empty for none.
    let script: String
    /// What is typed then.
    let typed: String
    /// Whether it is typed again, after five seconds in which nothing is shown, until the next step's text comes.
    let insists: Bool

    /// A step.
    /// - Parameter insists: types again what is lost, as a person at a shell's prompt would: now and then, a key that comes while
    ///   a shell takes the terminal back from a stopped job goes nowhere.
    public init(at text: String, run script: String = "", type typed: String, insists: Bool = false) {
        self.insists = insists
        self.text = text
        self.script = script
        self.typed = typed
    }
}

extension TestHome {
    /// Runs a program on a pseudoterminal of its own.
    /// - Parameters:
    ///   - steps: one after the other; those that are left when the program ends are not done.
    ///   - ends: what ends the input when a question comes for which there is no step; empty: nothing.
    ///   - directory: where it runs; the home when nil.
    /// - Returns: all that the terminal showed is the standard output; what the scripts wrote is the standard error.
    public func onTerminal(
        _ words: [String], _ steps: [TerminalStep], at question: String = "", in directory: FilePath? = nil,
        extra: [String: String] = [:]
    ) throws -> ProgramResult {
        let given = steps.flatMap { [$0.text, $0.script, $0.typed, $0.insists ? "insists" : ""] }
        return try run(
            ["python3", "-c", Self.person, question, String(steps.count)] + given + words, in: directory,
            extra: extra, limit: .seconds(120))
    }

    private static let person = """
        import os, pty, select, signal, subprocess, sys
        question, count = sys.argv[1].encode(), int(sys.argv[2])
        steps = [sys.argv[3 + 4 * n:7 + 4 * n] for n in range(count)]
        words = sys.argv[3 + 4 * count:]
        child, terminal = pty.fork()
        if child == 0:
            os.execvp(words[0], words)
        shown, seen, again = b"", 0, None
        def give_up(number, frame):
            sys.stderr.write("waits for %r, sees %r\\n" % ([step[0] for step in steps][:1], shown[seen:]))
            sys.stdout.buffer.write(shown)
            sys.stdout.flush()
            os.kill(child, signal.SIGKILL)
            os._exit(75)
        # Before who has this run gives up without a word.
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(110)
        while True:
            while steps:
                at = shown.find(steps[0][0].encode(), seen)
                if at < 0: break
                text, script, typed, insists = steps.pop(0)
                seen = at + len(text.encode())
                if script:
                    subprocess.run(["sh", "-ec", script], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
                os.write(terminal, typed.encode())
                again = typed.encode() if insists else None
            if question and not steps and shown.find(question, seen) >= 0:
                seen = len(shown)
                os.write(terminal, b"\\x04")
            # Until the next step's text comes: of what was typed a part may be lost, too.
            while again and not select.select([terminal], [], [], 5)[0]: os.write(terminal, again)
            # The master reads an error when the last program has closed the terminal.
            try: more = os.read(terminal, 4096)
            except OSError: break
            if not more: break
            shown += more
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.buffer.write(shown.replace(b"\\r\\n", b"\\n"))
        sys.stdout.flush()
        sys.exit(code if code >= 0 else 128 - code)
        """
}
