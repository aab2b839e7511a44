import Daemon
import Glibc
import OpenPGP
import System
import SystemPackage

/// A signal that ends a command first closes the prompt for a passphrase that the command has had opened: left behind, it
/// would go on taking what is typed in the terminal.
enum PromptInterruption {
    /// How many seconds a prompt may take to close before the signal ends the command all the same.
    private static let patience = 2.0

    /// Runs what may ask for passphrases; once in a process. After a signal it does not return: the command ends by it.
    static func during<Value>(_ body: (Cancellation) throws -> Value) throws -> Value {
        let cancellation = Cancellation()
        let isOver = Monitor(false)
        try rethrowing(
            TerminationSignals.start { number in
                cancellation.cancel()
                let end = MonotonicTime(secondsFromNow: patience)
                isOver.waiting { isOver, isLate in isOver || isLate ? .done(()) : .wait(until: end) }
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
        ) { (error: Errno) in CommandFailure("cannot catch signals: \(error)") }
        defer {
            isOver.withLock { $0 = true }
            isOver.broadcast()
            // What the cancellation made of the work is nothing to tell.
            while TerminationSignals.hasCome { pause() }
        }
        return try body(cancellation)
    }
}
