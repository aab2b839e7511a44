import Daemon
import Glibc
import OpenPGP
import Stores
import System
import SystemPackage

/// Runs what takes long: with a bar, and stopped by Ctrl-C.
enum Work {
    static func run(
        _ body: (Cancellation, @escaping @Sendable (Reencryption.Progress) -> Void) throws ->
            ChangeOutcome
    ) throws -> ChangeOutcome {
        let cancellation = Cancellation()
        try rethrowing(TerminationSignals.start { _ in cancellation.cancel() }) { (error: Errno) in
            CommandFailure("cannot catch signals: \(error)")
        }
        let bar = ProgressBar()
        defer { bar.end() }
        return try body(cancellation) { bar.update($0.step.rawValue, done: $0.done, total: $0.total) }
    }

    /// Names secrets that were left alone.
    static func tell(_ outcome: ChangeOutcome) {
        for secret in outcome.skipped {
            StandardError.print(
                "passdir: left unchanged, no key here decrypts it: \(secret.string)")
        }
        for secret in outcome.left {
            StandardError.print(
                "passdir: left unchanged, someone else added it after you were asked: \(secret.string)")
        }
        if !outcome.left.isEmpty {
            StandardError.print(
                "passdir: review these, then re-encrypt them with passdir recipients check --fix "
                    + ShellWord.quoted(outcome.place))
        }
    }
}

/// Asks on the terminal.
enum Confirmation {
    /// Whether there is somebody to ask, who sees what the question is about; as pass does, nobody is asked where standard
    /// input is no terminal.
    static var isPossible: Bool { Terminal.showsOutput }

    /// Whether there is something to ask before a change: not where it was agreed to in the command.
    /// - Parameter way: how it is agreed to in the command.
    /// - Throws: Where it was not, and nobody can be asked.
    static func mustAsk(unless isAgreed: Bool, _ way: String) throws -> Bool {
        if isAgreed { return false }
        guard isPossible else { throw CommandFailure("nothing was changed: \(way)") }
        return true
    }

    /// As `require`, before something is destroyed; `--yes` agrees in the command.
    static func require(_ question: String, yes: Bool) throws {
        if yes { return }
        guard isPossible else {
            throw CommandFailure("\(question) Pass --yes to go ahead without being asked")
        }
        try require(question)
    }

    /// Returns when the answer is yes.
    /// - Throws: When it is anything else: what was asked for is not done, and no program may think it was.
    static func require(_ question: String) throws {
        guard asks(question) else { throw CommandFailure("nothing was changed") }
    }

    /// Whether the answer is yes.
    static func asks(_ question: String) -> Bool {
        guard let answer = Terminal.line("\(question) [y/N] ") else {
            StandardError.endLine()
            return false
        }
        return ["y", "yes"].contains(answer.lowercased())
    }
}
