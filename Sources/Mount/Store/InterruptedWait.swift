import Dispatch
import Fuse

/// Decides when a signal ends a caller's wait for a decryption.
///
/// On a disk no signal makes open(2) fail, so programs don't expect it: an interval timer, a child that ends or a
/// runtime's own signals must not turn a read into an error. A wait for a person is another matter: there Ctrl-C in a
/// program that handles it is to be heard. So a signal that the caller handles ends the wait only once it has gone
/// on for longer than gpg takes by itself, and a fatal one ends it at once.
///
/// The kernel tells of the first signal only; whoever was interrupted and waits on is looked at again and again.
struct InterruptedWait: Sendable {
    /// A decryption that takes longer waits for a person; `Operation.patience` of OpenPGP is the same.
    static let patience = Duration.seconds(1)
    /// How often a caller is looked at that was interrupted and waits on. Nothing can be waited for: neither the
    /// kernel nor a process descriptor tells of further signals.
    static let interval = Duration.milliseconds(100)

    /// When the decryption began.
    private let start: ContinuousClock.Instant
    private let caller: Caller?
    private var hasLooked = false
    /// A signal came that may end the wait; it may be taken by another thread of the caller later.
    private var isToEnd = false

    init(of caller: Caller?, since start: ContinuousClock.Instant) {
        self.caller = caller
        self.start = start
    }

    /// Looks whether the wait is over.
    mutating func isOver() -> Bool {
        guard let caller, caller.isInterrupted else { return false }
        if caller.isAbandoned { return true }
        switch caller.pendingSignals {
        case .fatal: return true
        case .handled, .unknown: isToEnd = true
        case .incidental: break
        // What was pending at the first look and is no more was taken by another thread, and is known already.
        case .none: if !hasLooked { isToEnd = true }
        }
        hasLooked = true
        return isToEnd && ContinuousClock.now >= start + Self.patience
    }

    /// How long to wait before the next look.
    var pause: DispatchTimeInterval {
        let end = start + Self.patience - .now
        let pause = isToEnd && end > .zero ? min(end, Self.interval) : Self.interval
        return .nanoseconds(Int(pause / .nanoseconds(1)))
    }
}
