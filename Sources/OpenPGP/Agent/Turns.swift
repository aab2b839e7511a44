import Synchronization

/// Sees to it that something is asked for once, however many readers wait for it: the first asks, the others hear what
/// came of it.
final class Turns: Sendable {
    /// One who waits while another asks.
    final class Waiter: Sendable {
        fileprivate let wakeup: Wakeup
        fileprivate let outcome = Mutex<Outcome?>(nil)
        /// Until when the other one may be answered.
        fileprivate let limit = Mutex<ContinuousClock.Instant?>(nil)

        fileprivate init(_ wakeup: Wakeup) { self.wakeup = wakeup }

        /// Waits until the other has asked; then it is to be tried again. Bounds that end before the other's prompt does go as far
        /// as that.
        /// - Throws: what the other was refused with, and when the caller's time is over.
        func wait(_ bounds: inout Bounds) throws(OpenPGPError) {
            while true {
                if let limit = limit.withLock({ $0 }) { bounds.extend(to: limit) }
                switch outcome.withLock({ $0 }) {
                case .tryAgain: return
                case .refused(let error): throw error
                case nil: try bounds.pause(wakeup)
                }
            }
        }
    }

    /// What came of asking.
    enum Outcome: Sendable {
        /// It may be there now, or the one who asked went away: try for yourself.
        case tryAgain
        /// What the person, or the want of one, answered.
        case refused(OpenPGPError)
    }

    private struct Turn {
        var waiters: [Waiter] = []
        var limit: ContinuousClock.Instant?
    }

    private let turns = Mutex<[String: Turn]>([:])

    /// How many wait.
    var waiterCount: Int { turns.withLock { $0.values.reduce(0) { $0 + $1.waiters.count } } }

    /// nil: the caller is the one who asks now, and calls `leave` when that is over.
    func enter(_ subject: String, _ wakeup: Wakeup) -> Waiter? {
        turns.withLock { turns in
            guard turns[subject] != nil else {
                turns[subject] = Turn()
                return nil
            }
            let waiter = Waiter(wakeup)
            waiter.limit.withLock { $0 = turns[subject]?.limit }
            turns[subject]?.waiters.append(waiter)
            return waiter
        }
    }

    /// A person is asked, who may answer until then.
    func asks(_ subject: String, until limit: ContinuousClock.Instant?) {
        let waiters = turns.withLock { turns in
            turns[subject]?.limit = limit
            return turns[subject]?.waiters ?? []
        }
        for waiter in waiters {
            waiter.limit.withLock { $0 = limit }
            waiter.wakeup.wake()
        }
    }

    /// Ends the turn of the one who asked.
    func leave(_ subject: String, _ outcome: Outcome) {
        for waiter in turns.withLock({ $0.removeValue(forKey: subject)?.waiters }) ?? [] {
            waiter.outcome.withLock { $0 = outcome }
            waiter.wakeup.wake()
        }
    }

    /// Goes before the one who asks is done.
    func giveUp(_ subject: String, _ waiter: Waiter) {
        turns.withLock { $0[subject]?.waiters.removeAll { $0 === waiter } }
    }
}
