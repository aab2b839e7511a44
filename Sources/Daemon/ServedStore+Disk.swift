import Stores
import System

/// Work that waits for the disk of a store: it runs on a thread of its own, and nobody waits for it while the disk does not answer.
extension ServedStore {
    /// How long slow work may keep somebody waiting.
    private static let patience = Duration.seconds(20)

    /// Begins work. Whoever calls what this returns waits for what it gives; nil where the disk does not answer, or that takes too
    /// long: the work goes on by itself.
    /// - Parameter work: looks of one kind, as what is asked for last is done when another one runs.
    func begin<Value: Sendable>(
        _ work: RepeatedLook<Value>, _ body: @escaping @Sendable () -> Value
    ) -> () -> Value? {
        let number = work.begin(body)
        return { [disk] in
            let end = ContinuousClock.now + Self.patience
            while true {
                // It may wait for somebody else's work on that disk, so what its own thread waits for does not tell.
                if let value = work.finding(of: number, until: MonotonicTime(secondsFromNow: 0.5)) {
                    return value
                }
                guard .now < end, disk.answers else { return nil }
            }
        }
    }

    /// Does work, and returns when it has ended or goes on by itself.
    func work(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let done = RepeatedLook<Bool>(named: name)
        _ = begin(done) {
            body()
            return true
        }()
    }
}
