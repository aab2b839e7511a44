import Dispatch
import Synchronization
import SystemPackage

/// A request that waits for a worker. Either a worker takes it, or its caller, who is being killed, leaves the queue.
final class QueuedRequest: Sendable {
    /// How often a caller is looked at that was interrupted and still waits: the kernel tells of its first signal only.
    private static let interval = DispatchTimeInterval.milliseconds(100)
    /// Looking is short, so that one thread does for all.
    private static let looks = DispatchQueue(label: "passdir.queued")

    private let caller: Caller
    private let leave: @Sendable () -> Void
    private let isTaken = Atomic(false)

    /// - Parameter leave: run when the caller is being killed before a worker has taken the request: nothing has been done
    ///   of what it asked for, and nobody waits for it any more.
    init(_ caller: Caller, whenKilled leave: @escaping @Sendable () -> Void) {
        self.caller = caller
        self.leave = leave
    }

    /// Whether whoever calls this is the first to do so, and has to answer the request.
    func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }

    /// Looks whether the caller is being killed whenever a signal comes.
    func watch() {
        caller.onInterrupt { self.look() }
    }

    private func look() {
        guard !isTaken.load(ordering: .acquiring) else { return }
        guard caller.pendingSignals == .fatal else {
            return Self.looks.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.look() }
        }
        if take() { leave() }
    }
}
