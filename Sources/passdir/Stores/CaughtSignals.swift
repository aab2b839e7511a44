import Glibc
import Synchronization

/// Signals that wait until a terminal is as it was: caught from `init` to `end`, which then sends them anew.
struct CaughtSignals: ~Copyable {
    private static let caught = Atomic<CInt>(0)
    private let before: [(signal: CInt, action: sigaction)]

    /// From here on a read that waits ends with EINTR when one of them comes.
    init(_ signals: [CInt]) {
        Self.caught.store(0, ordering: .relaxed)
        before = signals.map { signal in
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { CaughtSignals.caught.store($0, ordering: .relaxed) }
            var old = sigaction()
            sigaction(signal, &action, &old)
            return (signal, old)
        }
    }

    /// Whether one has come.
    var hasCome: Bool { Self.caught.load(ordering: .relaxed) != 0 }

    /// What was set before holds again, and gets what has come.
    func end() {
        for (signal, action) in before {
            var action = action
            sigaction(signal, &action, nil)
        }
        let signal = Self.caught.exchange(0, ordering: .relaxed)
        if signal != 0 { raise(signal) }
    }
}
