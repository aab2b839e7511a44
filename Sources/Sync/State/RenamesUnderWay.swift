import System

/// The renames of a store that are being made: from before the names on disk change until the change is noted.
///
/// A commit that reads one of the two names before a rename and the other behind it would say that a secret was removed, and
/// another one that one was added: nobody could follow it then.
final class RenamesUnderWay: Sendable {
    /// A moment at which all that was renamed was noted.
    struct Moment: Sendable {
        fileprivate let ended: UInt64
    }

    private struct State {
        var underWay = 0
        var ended: UInt64 = 0
    }

    /// Longer than a rename takes, unless the disk hangs, in seconds.
    private static let patience = 2.0
    private let state = Monitor(State())

    /// A rename begins.
    func begin() { state.withLock { $0.underWay += 1 } }

    /// It is noted, or has failed.
    func end() {
        state.withLock { state in
            state.underWay -= 1
            state.ended += 1
        }
        state.broadcast()
    }

    /// Waits until none is under way.
    /// - Returns: nil where one is for longer than a rename takes.
    func awaitNone() -> Moment? {
        let limit = MonotonicTime(secondsFromNow: Self.patience)
        return state.waiting { state, timeIsOver in
            if state.underWay == 0 { return .done(Moment(ended: state.ended)) }
            return timeIsOver ? .done(nil) : .wait(until: limit)
        }
    }

    /// Whether none has begun since, nor ended.
    func isNone(since moment: Moment) -> Bool {
        state.withLock { $0.underWay == 0 && $0.ended == moment.ended }
    }
}
