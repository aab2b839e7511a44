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
    /// The user must do something first; only an explicit request tries again.
    var waitsForUser = false
    /// Those who wait for the end of the one that runs, and of what follows it.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// Told the user that it fails.
    var hasComplained = false
}

/// A branch and its counterpart on a remote.
struct SyncTarget: Sendable {
    /// The git folder.
    var repository: FilePath
    /// The name of the branch here.
    var branch: String
    /// Its full name.
    var localRef: String
    /// The remote's name or URL.
    var remote: String
    /// The branch there.
    var remoteRef: String
    /// Where we keep what was last seen there: ours alone, so that no `git fetch` of the user fails because of us.
    var knownRef: String
    /// Where git's own reference stood when we last looked at the remote: when it has moved, git has looked later.
    var seenRef: String
    /// Where git keeps it; nil where it does not.
    var gitRef: String?
}

/// Why store and remote cannot be brought together.
struct SyncFailure: Error {
    enum Kind {
        /// It may work later by itself.
        case passing
        /// Nothing changes unless the user does something.
        case lasting
        /// A transfer failed.
        case transfer(TransferFailure)
    }

    var kind: Kind
    /// One sentence.
    var message: String
}
