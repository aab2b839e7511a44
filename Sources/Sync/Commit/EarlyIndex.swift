import Dispatch
import Git
import Synchronization
import System
import SystemPackage

/// A new index that is put together on a thread of its own while the objects of the commit are being written: for a
/// large store that takes as long as all the rest.
///
/// It is written to the disk only when the objects are there: while a file of 10 MB is written, each fsync of a small one
/// takes several times as long.
final class EarlyIndex: Sendable {
    private let change: IndexChange
    private let draft = Mutex<IndexDraft?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    /// Begins.
    static func begin(_ change: IndexChange) -> EarlyIndex {
        let early = EarlyIndex(change)
        do throws(Errno) {
            try PosixThread.start(named: "index") { early.draw() }
        } catch {
            early.draw()
        }
        return early
    }

    private init(_ change: IndexChange) {
        self.change = change
    }

    private func draw() {
        // What fails here is tried again, and told, when the commit is written.
        if let draft = try? change.draft() { keep(draft) }
        isDone.signal()
    }

    private func keep(_ draft: consuming IndexDraft) {
        var draft: IndexDraft? = consume draft
        self.draft.withLock { swap(&$0, &draft) }
    }

    /// Waits for the index and writes it; nil where it could not be put together, and when asked again.
    func written() throws(GitError) -> PreparedIndex? {
        isDone.wait()
        isDone.signal()
        var draft: IndexDraft?
        self.draft.withLock { swap(&$0, &draft) }
        guard let draft = consume draft else { return nil }
        return try draft.written(durable: .whenSettled)
    }
}
