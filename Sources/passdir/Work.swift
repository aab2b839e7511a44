import Daemon
import Glibc
import OpenPGP
import Stores
import SystemPackage

/// Runs what takes long: with a bar, and stopped by Ctrl-C.
enum Work {
    static func run(
        _ body: (Cancellation, @escaping @Sendable (Reencryption.Progress) -> Void) throws(DaemonError) ->
            [FilePath]
    ) throws(DaemonError) -> [FilePath] {
        let cancellation = Cancellation()
        do throws(Errno) {
            try TerminationSignals.start { _ in cancellation.cancel() }
        } catch {
            throw DaemonError(message: "signals cannot be caught: \(error)")
        }
        let bar = ProgressBar()
        defer { bar.end() }
        return try body(cancellation) { bar.update($0.step.rawValue, done: $0.done, total: $0.total) }
    }

    /// Names secrets that were left alone.
    static func tell(_ skipped: [FilePath]) {
        for secret in skipped {
            StandardError.print(
                "passdir: left as it is, no key here decrypts it: \(secret.string)")
        }
    }
}

/// Asks on the terminal.
enum Confirmation {
    /// Whether there is somebody to ask; as pass does, nobody is asked where standard input is no terminal.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Returns when the answer is yes.
    /// - Throws: When it is anything else: what was asked for is not done, and no program may think it was.
    static func require(_ question: String) throws(DaemonError) {
        StandardError.ask("\(question) [y/N] ")
        guard let answer = readLine() else {
            StandardError.endLine()
            throw DaemonError(message: "Nothing was changed.")
        }
        guard ["y", "yes"].contains(answer.lowercased()) else {
            throw DaemonError(message: "Nothing was changed.")
        }
    }
}

extension String {
    func droppingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
