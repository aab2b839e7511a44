import Git
import SystemPackage

/// Where a committer stands with its remote.
struct SyncState {
    /// What is asked for.
    enum Request: Int {
        /// Push what the remote lacks; fetch only when it has something that is not here.
        case push
        /// Fetch, bring both together, push.
        case everything
    }

    var isRunning = false
    /// What was asked for while one was running.
    var next: Request?
    /// Failures in a row.
    var failures = 0
    /// The repositories, as `SyncTarget.nested` names them, for which the user must do something first; only an explicit
    /// request tries them again.
    var waitsForUser: Set<FilePath> = []
    /// What keeps which repository and its remote apart.
    var complaints: [FilePath: SyncFailure] = [:]
    /// Those who wait for the end of the one that runs, and of what follows it.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// What the user chose for histories that have parted; nil: nothing is replaced.
    var choice: HistoryChoice?
    /// What became of that choice; each a sentence without a full stop.
    var chosen: [String] = []
    /// Told the user that it fails.
    var hasComplained = false

    /// What failed is tried again as if for the first time.
    mutating func forgetFailures() {
        (failures, hasComplained) = (0, false)
        (complaints, waitsForUser) = ([:], [])
    }
}
