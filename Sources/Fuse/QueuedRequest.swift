import Dispatch
import Synchronization
import SystemPackage

/// A request that waits for a worker. Either a worker takes it, or its caller, who is being killed, leaves the queue.
final class QueuedRequest: Sendable {
    /// How often a caller is looked at that was interrupted and still waits: the kernel tells of its first signal only.
    private static let interval = DispatchTimeInterval.milliseconds(100)
    /// Looking is short, so that one thread does for all.
    private static let looks = DispatchQueue(label: "passdir.queued")

    let request: Request
    private let isTaken = Atomic(false)

    init(_ request: Request) {
        self.request = request
    }

    /// Whether whoever calls this is the first to do so, and has to answer the request.
    func take() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }

    /// Has `leave` run when the caller is being killed before a worker has taken the request: nothing has been done of
    /// what it asked for, and nobody waits for it any more.
    func whenKilled(_ leave: @escaping @Sendable (Request) -> Void) {
        request.onInterrupt { self.look(leave) }
    }

    private func look(_ leave: @escaping @Sendable (Request) -> Void) {
        guard !isTaken.load(ordering: .acquiring) else { return }
        guard request.pendingSignals == .fatal else {
            return Self.looks.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
                self?.look(leave)
            }
        }
        if take() { leave(request) }
    }
}
