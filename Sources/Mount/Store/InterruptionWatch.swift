import Dispatch
import Fuse

/// Ends a caller's wait that is on no thread when a signal is to end it: Ctrl-C ends the wait for a person's agreement, or for a
/// turn, as it ends the wait for a passphrase.
struct InterruptionWatch: Sendable {
    /// Looks at callers that were interrupted and wait on, which is short.
    private static let looks = DispatchQueue(label: "passdir.interruptions")

    private let caller: Caller
    private let isAwaited: @Sendable () -> Bool
    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - isAwaited: whether the caller still waits.
    ///   - end: ends the wait, if it has not ended meanwhile; run once at most, on another thread.
    static func begin(
        _ caller: Caller, isAwaited: @escaping @Sendable () -> Bool, end: @escaping @Sendable () -> Void
    ) {
        let watch = InterruptionWatch(caller: caller, isAwaited: isAwaited, end: end)
        let start = ContinuousClock.now
        caller.onInterrupt { watch.look(InterruptedWait(of: caller, since: start)) }
    }

    private func look(_ wait: InterruptedWait) {
        var wait = wait
        if wait.isOver() { return end() }
        guard isAwaited() else { return }
        let next = wait
        Self.looks.asyncAfter(deadline: .now() + next.pause) { look(next) }
    }
}
