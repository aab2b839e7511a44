import Dispatch
import Git
import Synchronization

/// A new index that is prepared on a thread of its own while the commit is still being written: for a large store that
/// takes as long as all the rest.
final class EarlyIndex: Sendable {
    private let change: IndexChange
    private let prepared = Mutex<PreparedIndex?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    /// Begins.
    static func begin(_ change: IndexChange) -> EarlyIndex {
        let early = EarlyIndex(change)
        PlainThread.start {
            // What fails here is tried again, and told, when the commit is written.
            if let index = try? change.prepared() { early.keep(index) }
            early.isDone.signal()
        }
        return early
    }

    private init(_ change: IndexChange) {
        self.change = change
    }

    private func keep(_ index: consuming PreparedIndex) {
        var index: PreparedIndex? = consume index
        prepared.withLock { swap(&$0, &index) }
    }

    /// Waits for the index and hands it out; nil where it could not be prepared, and when asked again.
    func take() -> PreparedIndex? {
        isDone.wait()
        isDone.signal()
        var index: PreparedIndex?
        prepared.withLock { swap(&$0, &index) }
        return index
    }
}
