import Daemon
import Glibc
import OpenPGP
import System
import SystemPackage

/// A signal that ends a command first closes the prompt for a passphrase that the command has had opened: left behind, it
/// would go on taking what is typed in the terminal.
enum PromptInterruption {
    private struct State {
        var isOver = false
        var hasSignal = false
    }

    /// How many seconds a prompt may take to close before the signal ends the command all the same.
    private static let patience = 2.0

    /// Runs what may ask for passphrases; once in a process. After a signal it does not return: the command ends by it.
    static func during<Value>(_ body: (Cancellation) throws -> Value) throws -> Value {
        let cancellation = Cancellation()
        let state = Monitor(State())
        try rethrowing(
            TerminationSignals.start { number in
                state.withLock { $0.hasSignal = true }
                cancellation.cancel()
                let end = MonotonicTime(secondsFromNow: patience)
                state.waiting { state, isOver in state.isOver || isOver ? .done(()) : .wait(until: end) }
                signal(number, SIG_DFL)
                kill(getpid(), number)
            }
        ) { (error: Errno) in CommandFailure("cannot catch signals: \(error)") }
        defer {
            let isEnding = state.withLock { state in
                state.isOver = true
                return state.hasSignal
            }
            state.broadcast()
            // What the cancellation made of the work is nothing to tell.
            while isEnding { pause() }
        }
        return try body(cancellation)
    }
}
