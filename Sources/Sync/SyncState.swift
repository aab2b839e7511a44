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
    /// The `.gpg-id` files, relative to the store, that a merge has changed and the user was not told of yet.
    var newRecipients: Set<FilePath> = []
    /// The remote commits whose history was looked at and can be taken in, by repository.
    var soundTips: [FilePath: ObjectID] = [:]
    /// The git lock that kept the last merge from its end.
    var lock: String?
    /// The remote's versions of lists and signatures that the user has looked at, and in whose place ours stay; relative to
    /// the store.
    var settledLists: [FilePath: ObjectID] = [:]
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

/// A branch and its counterpart on a remote.
struct SyncTarget: Sendable {
    /// The repository's top below the store's folder, for one inside the store; empty for the store's own.
    var nested: FilePath
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
    /// Where a fetch puts what it brought until that was looked at.
    var incomingRef: String
    /// Where git's own reference stood when we last looked at the remote: when it has moved, git has looked later.
    var seenRef: String
    /// Where git keeps it; nil where it does not.
    var gitRef: String?
}

extension SyncTarget {
    /// The name under which something is remembered of this repository.
    func fact(_ name: String) -> String { nested.isEmpty ? name : "\(name) \(nested)" }
}

/// Why store and remote cannot be brought together.
struct SyncFailure: Error {
    enum Kind {
        /// It may work later by itself.
        case passing
        /// Nothing changes unless the user does something.
        case lasting
        /// As `lasting`: what the remote has cannot be read, and only `--ours` helps.
        case unsound
        /// A transfer failed.
        case transfer(TransferFailure)
    }

    var kind: Kind
    /// One sentence.
    var message: String

    /// Asking again would only be refused again.
    var needsUser: Bool {
        guard case .transfer(let transfer) = kind else { return false }
        return transfer.code == .authentication || transfer.code == .certificate
    }
}
