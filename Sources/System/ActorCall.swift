/// Work of an actor that a thread of ours begins, and may wait for: the one way from threads that block to Swift's
/// concurrency. `PosixThread.run` is the other way.
public final class ActorCall<Value: Sendable>: Sendable {
    private let outcome = Monitor<Value?>(nil)

    /// Begins the work; returns at once.
    @discardableResult
    public init(_ work: @escaping @Sendable () async -> Value) {
        let outcome = outcome
        Task {
            let value = await work()
            outcome.withLock { $0 = value }
            outcome.broadcast()
        }
    }

    /// What the work gave, as soon as it is there; only for threads that may block.
    public func value() -> Value {
        outcome.waiting { value, _ in value.map { .done($0) } ?? .wait(until: nil) }
    }

    /// What the work gave, as soon as it is there; nil when it is not there in time. Only for threads that may block.
    public func value(until deadline: MonotonicTime) -> Value? {
        outcome.waiting { value, timeIsOver in
            value != nil || timeIsOver ? .done(value) : .wait(until: deadline)
        }
    }
}
