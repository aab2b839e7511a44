import Glibc
import Synchronization
import System
import SystemPackage

/// Turns SIGTERM, SIGINT and SIGHUP into calls of a closure on a thread of its own.
///
/// The signals are caught by a handler that writes their number to a pipe, not blocked: a blocked or ignored
/// signal stays so in the programs that gpgme and git start, a handler does not outlive exec. A write to a
/// closed pipe fails with EPIPE from then on.
public enum TerminationSignals {
    /// The signals that ask the daemon to end.
    public static let caught = [SIGTERM, SIGINT, SIGHUP]

    /// Begins to catch; call it once, before the mount is made.
    ///
    /// - Parameter received: called with the signal's number, one call after the other.
    /// - Throws: what pipe(2) or the thread's start fails with.
    public static func start(_ received: @escaping @Sendable (_ signal: Int32) -> Void) throws(Errno) {
        // Both ends stay open as long as this process lives.
        let (reading, writing) = try Pipe().release()
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        signalPipe.store(writing, ordering: .releasing)
        try PosixThread.start(named: "signals") {
            var number: UInt8 = 0
            while true {
                let count = read(reading, &number, 1)
                if count == 1 { received(Int32(number)) }
                if count == 0 || count < 0 && errno != EINTR { return }
            }
        }
        for signal in caught { handle(signal) { writeToPipe($0) } }
        BrokenPipe.isAnError()
    }

    /// Whether one was caught; known as soon as it has been delivered, also to the thread that has raised it.
    public static var hasCome: Bool { hasCaught.load(ordering: .acquiring) }

    private static func handle(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        // System calls of threads that happen to take the signal go on.
        action.sa_flags = SA_RESTART
        sigaction(signal, &action, nil)
    }
}

/// Where the handler writes; -1 until signals are caught.
private let signalPipe = Atomic<Int32>(-1)

private let hasCaught = Atomic(false)

/// The handler: only calls that signal-safety(7) allows.
private func writeToPipe(_ signal: Int32) {
    let before = errno
    var number = UInt8(truncatingIfNeeded: signal)
    hasCaught.store(true, ordering: .releasing)
    _ = write(signalPipe.load(ordering: .acquiring), &number, 1)
    errno = before
}
