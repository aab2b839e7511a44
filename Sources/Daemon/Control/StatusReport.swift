public import Access
public import Stores

/// What `passdir status` shows, and what `status --json` prints as it is: the mount and its stores.
///
/// Keys are always present; what is absent is null.
public struct StatusReport: Codable, Sendable, Equatable {
    /// The mount that the daemon serves.
    public var mount: MountReport
    /// The stores in the mount, in the order of their names.
    public var stores: [StoreReport]
}

/// The mount that a daemon serves.
public struct MountReport: Codable, Sendable, Equatable {
    /// The mount point, absolute.
    public var path: String
    /// The daemon's process id.
    public var pid: Int32
    /// The version of passdir that the daemon runs; absent where it is too old to say so.
    public var version: String?
    /// When the mount began to answer.
    public var since: Timestamp
    /// The number of its device, `major:minor`, by which what programs hold of it is found; absent where it is not known.
    public var device: String?
    /// Whether the mount has ended and the daemon goes on only for programs that work in it or have files in it open; absent
    /// when it has not.
    public var isUnmounted: Bool?
    /// Whether no program holds the mount that has ended any more, and the daemon still saves, commits and pushes what waits;
    /// absent when it does not.
    public var isFinishing: Bool?
    /// The names of the stores that are configured and hidden in the mount; absent when there is none.
    public var hidden: [String]?
    /// What is wrong with the daemon as a whole, one sentence each; absent when nothing is.
    public var warnings: [String]?
    /// The rendered files that could not be made when they were opened last; absent when there is none.
    public var rendered: [RenderingReport]?
    /// The processes of the commands that `passdir run --files` gave files to and that still run; absent when there is none.
    public var filesFor: [Int32]?
    /// The programs that wait for an open in the mount, as for a passphrase; absent when there is none.
    public var waiting: [WaitingReport]?

    /// A mount by its place, its process and its beginning.
    public init(
        path: String, pid: Int32, version: String? = nil, since: Timestamp, device: String? = nil,
        isUnmounted: Bool = false, isFinishing: Bool = false, hidden: [String] = [],
        warnings: [String] = [],
        rendered: [RenderingReport] = [], filesFor: [Int32] = [], waiting: [WaitingReport] = []
    ) {
        self.path = path
        self.pid = pid
        self.version = version
        self.since = since
        self.device = device
        self.isUnmounted = isUnmounted ? true : nil
        self.isFinishing = isFinishing ? true : nil
        self.hidden = hidden.isEmpty ? nil : hidden
        self.warnings = warnings.isEmpty ? nil : warnings
        self.rendered = rendered.isEmpty ? nil : rendered
        self.filesFor = filesFor.isEmpty ? nil : filesFor
        self.waiting = waiting.isEmpty ? nil : waiting
    }
}

/// A program that waits for an open in the mount.
public struct WaitingReport: Codable, Sendable, Equatable {
    /// Its thread, which for a program of one thread is its process.
    public var pid: Int32
    /// What it opens, as the mount shows it.
    public var path: String

    /// What waits for what.
    public init(pid: Int32, path: String) { (self.pid, self.path) = (pid, path) }
}

/// How a store is doing.
public enum StoreState: String, Codable, Sendable, CaseIterable {
    /// Nobody has looked at it yet: the daemon does so right after the mount.
    case starting
    /// Everything works; changes are committed.
    case ready
    /// Reading and saving work; nothing is committed, as the store is no git repository or git cannot be used.
    case noCommits
    /// Changes or commits wait: for the commit's delay, for a lock of git's, or for the remote.
    case waiting
    /// It could not be opened, or its disk does not answer; `lastError` says why.
    case failed
}

/// One store of the mount.
public struct StoreReport: Sendable, Equatable {
    /// The store's name: its directory under the mount point.
    public var name: String
    /// The folder with the encrypted files, absolute.
    public var path: String
    /// How the store is doing.
    public var state: StoreState
    /// Whether the configuration says that nothing is saved to it.
    public var isReadOnly = false
    /// Whether saving works in all of it: not where it is read-only, where no `.gpg-id` says for whom to encrypt, and where
    /// one names somebody whom you have not approved, or a key that nothing can be encrypted to. Nil where that is not known.
    public var canSave: Bool?
    /// The branch that commits go to; nil where there is no git repository or HEAD is detached.
    public var branch: String?
    /// Where its commits are pushed to: a URL without a password, or a path; nil where there is no remote.
    public var remote: String?
    /// Saved changes that are not committed yet.
    public var pendingChanges: Int = 0
    /// Commits of the branch that its upstream does not have yet.
    public var unpushedCommits: Int = 0
    /// The branch's newest commit.
    public var lastCommit: CommitReport?
    /// When a push last reached the remote.
    public var lastPush: Timestamp?
    /// When the remote was last asked for changes.
    public var lastFetch: Timestamp?
    /// What is going on with the remote right now, such as "fetching 3 of 10 objects".
    public var activity: String?
    /// Files, as the mount shows them and relative to the store, that hold our versions of secrets which the remote changed too.
    public var conflicts: [String] = []
    /// What failed last and has not worked since, as one sentence: the gravest where it is more than one thing.
    public var lastError: String?
    /// What else failed and has not worked since, a sentence each, the gravest first.
    public var otherErrors: [String] = []
    /// What is no failure and yet to be known, each a sentence.
    public var notes: [String] = []
    /// Saves that failed and are kept in memory until they work.
    public var unsaved: [UnsavedReport] = []
    /// Secrets whose text was lost with an earlier daemon, until `passdir discard` acknowledges it.
    public var lost: [LostReport] = []
    /// Files that a program is writing, as the mount shows them: what it wrote is not saved yet.
    public var beingWritten: [String] = []
    /// Secrets that a program has open and may still write to.
    public var openForWriting: [String] = []
    /// How far the change of recipients is that a save of a `.gpg-id` is making; nil where none is.
    public var reencryption: Reencryption.Progress?
    /// Since when nothing of it is read; nil while it is not locked.
    public var locked: LockReport?
    /// Why nothing can be encrypted by one of its `.gpg-id` files, as a sentence; nil where it can by all.
    public var savingObjection: String?
    /// `.gpg-id` files that somebody else changed since you last agreed to them.
    public var recipientChanges: [RecipientChangeReport] = []
    /// The credentials that are kept for its remote; filled in by `passdir status`, which looks at them.
    public var credentials: [CredentialReport] = []
}

extension StoreReport: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, path, state, branch, remote, pendingChanges, unpushedCommits, lastCommit, lastPush,
            lastFetch,
            activity
        case conflicts, lastError, otherErrors, notes, unsaved, lost, beingWritten, openForWriting
        case recipientChanges, reencryption, credentials, locked, canSave, savingObjection
        case isReadOnly = "readOnly"
    }

    /// What `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        path = try container.decode(String.self, forKey: .path)
        state = try container.decode(StoreState.self, forKey: .state)
        isReadOnly = try container.decodeIfPresent(Bool.self, forKey: .isReadOnly) ?? false
        canSave = try container.decodeIfPresent(Bool.self, forKey: .canSave)
        savingObjection = try container.decodeIfPresent(String.self, forKey: .savingObjection)
        branch = try container.decodeIfPresent(String.self, forKey: .branch)
        remote = try container.decodeIfPresent(String.self, forKey: .remote)
        pendingChanges = try container.decode(Int.self, forKey: .pendingChanges)
        unpushedCommits = try container.decode(Int.self, forKey: .unpushedCommits)
        lastCommit = try container.decodeIfPresent(CommitReport.self, forKey: .lastCommit)
        lastPush = try container.decodeIfPresent(Timestamp.self, forKey: .lastPush)
        lastFetch = try container.decodeIfPresent(Timestamp.self, forKey: .lastFetch)
        activity = try container.decodeIfPresent(String.self, forKey: .activity)
        conflicts = try container.decodeIfPresent([String].self, forKey: .conflicts) ?? []
        lastError = try container.decodeIfPresent(String.self, forKey: .lastError)
        otherErrors = try container.decodeIfPresent([String].self, forKey: .otherErrors) ?? []
        notes = try container.decodeIfPresent([String].self, forKey: .notes) ?? []
        unsaved = try container.decode([UnsavedReport].self, forKey: .unsaved)
        lost = try container.decodeIfPresent([LostReport].self, forKey: .lost) ?? []
        beingWritten = try container.decodeIfPresent([String].self, forKey: .beingWritten) ?? []
        openForWriting = try container.decodeIfPresent([String].self, forKey: .openForWriting) ?? []
        reencryption = try container.decodeIfPresent(Reencryption.Progress.self, forKey: .reencryption)
        locked = try container.decodeIfPresent(LockReport.self, forKey: .locked)
        recipientChanges =
            try container.decodeIfPresent([RecipientChangeReport].self, forKey: .recipientChanges) ?? []
        credentials = try container.decodeIfPresent([CredentialReport].self, forKey: .credentials) ?? []
    }

    /// Writes every key that each store has, null where there is no value; the synthesized form would leave the key out.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(path, forKey: .path)
        try container.encode(state, forKey: .state)
        try container.encode(isReadOnly, forKey: .isReadOnly)
        try container.encode(canSave, forKey: .canSave)
        try container.encode(branch, forKey: .branch)
        try container.encode(pendingChanges, forKey: .pendingChanges)
        try container.encode(unpushedCommits, forKey: .unpushedCommits)
        try container.encode(lastCommit, forKey: .lastCommit)
        try container.encode(lastPush, forKey: .lastPush)
        try container.encode(lastError, forKey: .lastError)
        try container.encode(unsaved, forKey: .unsaved)
        // What only some stores have is only there where it is.
        try container.encodeIfPresent(remote, forKey: .remote)
        try container.encodeIfPresent(lastFetch, forKey: .lastFetch)
        try container.encodeIfPresent(activity, forKey: .activity)
        if !otherErrors.isEmpty { try container.encode(otherErrors, forKey: .otherErrors) }
        if !notes.isEmpty { try container.encode(notes, forKey: .notes) }
        if !conflicts.isEmpty { try container.encode(conflicts, forKey: .conflicts) }
        if !lost.isEmpty { try container.encode(lost, forKey: .lost) }
        if !beingWritten.isEmpty { try container.encode(beingWritten, forKey: .beingWritten) }
        if !openForWriting.isEmpty { try container.encode(openForWriting, forKey: .openForWriting) }
        try container.encodeIfPresent(reencryption, forKey: .reencryption)
        try container.encodeIfPresent(locked, forKey: .locked)
        try container.encodeIfPresent(savingObjection, forKey: .savingObjection)
        if !recipientChanges.isEmpty { try container.encode(recipientChanges, forKey: .recipientChanges) }
        if !credentials.isEmpty { try container.encode(credentials, forKey: .credentials) }
    }
}

/// Since when nothing of a store is read, and why.
public struct LockReport: Codable, Sendable, Equatable {
    /// When it was locked.
    public var since: Timestamp
    /// What locked it.
    public var reason: LockReason

    /// A report by its parts.
    public init(since: Timestamp, reason: LockReason) {
        self.since = since
        self.reason = reason
    }
}

/// A commit as people look for it.
public struct CommitReport: Codable, Sendable, Equatable {
    /// The full object id in hexadecimal.
    public var id: String
    /// The first line of the message.
    public var subject: String
    /// When it was committed.
    public var time: Timestamp
}

/// A save that failed; its plaintext is in the daemon's memory and is tried again.
public struct UnsavedReport: Codable, Sendable, Equatable {
    /// The secret's path in its store, as the mount shows it.
    public var path: String
    /// Why it is not saved, as one sentence.
    public var error: String
    /// When saving first failed.
    public var since: Timestamp
}

/// The end of a change of recipients that a save of a `.gpg-id` was making and that was to be taken back.
public struct AbortedSave: Codable, Sendable, Equatable {
    /// What became of the change.
    public enum Outcome: String, Codable, Sendable {
        /// Everything is as it was before.
        case undone
        /// It was too far to be taken back, and is complete.
        case finished
    }

    /// What became of the change.
    public var outcome: Outcome
    /// The file in which what was to be saved is kept, absolute; nil where it is not.
    public var keptAt: String?
}

/// A secret that could not be saved until the daemon ended: its text was in memory only and is gone.
public struct LostReport: Codable, Sendable, Equatable {
    /// The secret's path in its store, as the mount showed it.
    public var path: String
    /// Why it was not saved, as one sentence.
    public var error: String
    /// When the daemon ended.
    public var time: Timestamp
}
