import SystemPackage

/// Work that may hang, such as a look at a disk that does not answer: it runs on a thread of its own, which lives on when
/// nobody waits for it any more.
public final class Attempt<Value: Sendable>: Sendable {
    private let outcome = Monitor<Value?>(nil)

    /// Starts the work. Only where no thread can be had does it run here, before this returns.
    public init(named name: String, _ work: @escaping @Sendable () -> Value) {
        let outcome = outcome
        let body: @Sendable () -> Void = {
            let value = work()
            outcome.withLock { $0 = value }
            outcome.broadcast()
        }
        do throws(Errno) {
            try PosixThread.start(named: name, body)
        } catch {
            body()
        }
    }

    /// What the work gave, as soon as it is there; nil when it is not there in time.
    public func value(until deadline: MonotonicTime) -> Value? {
        outcome.waiting { value, timeIsOver in
            value != nil || timeIsOver ? .done(value) : .wait(until: deadline)
        }
    }
}
