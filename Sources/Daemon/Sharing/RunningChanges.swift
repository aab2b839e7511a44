import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// The changes of recipients that saves of `.gpg-id` are making in one store: for `status`, and for `recipients abort`.
///
/// Two may be there for a moment: the second finds the first one at work, and fails.
final class RunningChanges: Sendable {
    private let running = Mutex<[RunningChange]>([])

    /// Whether there is one.
    var isAny: Bool { running.withLock { !$0.isEmpty } }

    /// How far the first one is; nil where there is none.
    var progress: Reencryption.Progress? { running.withLock { $0.first?.progress } }

    /// Notes that one begins; `end` must follow.
    /// - Parameter count: of the secrets that are to be re-encrypted.
    func begin(_ count: Int) -> RunningChange {
        let change = RunningChange(count)
        running.withLock { $0.append(change) }
        return change
    }

    /// Notes what became of one: the last that is done for it.
    func end(_ change: RunningChange, _ end: RunningChange.End) {
        running.withLock { $0.removeAll { $0 === change } }
        change.end(end)
    }

    /// Stops all, unless they are past that, and waits for their end.
    /// - Returns: what became of the first; nil where there was none.
    func abort() -> RunningChange.End? {
        let running = self.running.withLock { $0 }
        for change in running { change.cancellation.cancel() }
        return running.map { $0.waitForEnd() }.first
    }
}

/// A change of recipients that a save is making.
final class RunningChange: Sendable {
    /// What became of it.
    enum End: Sendable, Equatable {
        /// The new list is in force.
        case finished
        /// Everything is as it was before. Where what was to be saved is kept; nil where it is not.
        case undone(keptAt: FilePath?)
        /// It failed, and could not be taken back: it waits to be resumed or aborted.
        case interrupted
    }

    private struct State: Sendable {
        var progress: Reencryption.Progress
        var end: End?
    }

    /// Stops it while it encrypts.
    let cancellation = Cancellation()
    private let state: Monitor<State>

    fileprivate init(_ count: Int) {
        state = Monitor(State(progress: Reencryption.Progress(step: .encrypting, done: 0, total: count)))
    }

    /// How far it is.
    var progress: Reencryption.Progress { state.withLock { $0.progress } }

    /// Notes how far it is. Threads that work side by side may come in any order.
    func note(_ progress: Reencryption.Progress) {
        state.withLock { state in
            if state.progress.step != progress.step || state.progress.done < progress.done {
                state.progress = progress
            }
        }
    }

    fileprivate func end(_ end: End) {
        state.withLock { $0.end = end }
        state.broadcast()
    }

    fileprivate func waitForEnd() -> End {
        state.waiting { state, _ in state.end.map { .done($0) } ?? .wait(until: nil) }
    }
}
