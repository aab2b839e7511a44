import Git
import OpenPGP
public import Stores
public import System
public import SystemPackage

/// What git knows of a store's past.
public struct StoreHistory {
    /// A commit that changed a secret or folder.
    public struct Entry: Sendable, Equatable {
        /// The commit's full name.
        public var commit: String
        /// When it was made, in seconds since 1970.
        public var time: Int64
        /// Who made the change.
        public var author: String
        /// The first line of its message; where that is about several secrets and one or a folder was asked for, what it did
        /// to that.
        public var subject: String
        /// The secret's path at the time, relative to the store; nil for a folder's history.
        public var path: FilePath?
        /// The secrets that it changed, on disk and relative to the store, where a folder or the store was asked for.
        public var changed: [FilePath] = []
    }

    /// A secret and its last change.
    public struct Age: Sendable, Equatable {
        /// On disk, relative to the store.
        public var path: FilePath
        /// When it was changed, in seconds since 1970.
        public var time: Int64
        /// Who changed it.
        public var author: String
        /// The commit's full name.
        public var commit: String
    }

    /// Why there is no history.
    public struct Failure: SentenceError {
        /// One sentence.
        public let message: String
        /// Whether the store is no git repository, which is no fault of it.
        public var hasNoRepository = false
    }

    /// What versions are wanted for, as failures say it.
    public enum Purpose: String, Sendable {
        /// They are only looked at.
        case reading = "read"
        /// They are put back.
        case restoring = "restored"
    }

    let store: Store
    let repository: Repository
    let tip: ObjectID
    let purpose: Purpose

    /// The history of a store.
    /// - Throws: `Failure` when it has none.
    public init(_ store: Store, for purpose: Purpose = .reading) throws(Failure) {
        self.store = store
        self.purpose = purpose
        var isMissing = false
        do throws(GitError) {
            guard let repository = try store.repositories.own() else {
                isMissing = true
                throw GitError(code: .notFound, message: "it is not a git repository")
            }
            self.repository = repository
            tip = try repository.commit(named: "HEAD")
        } catch {
            throw Failure(
                message: "the store \"\(store.name)\" has no history: \(error.message).",
                hasNoRepository: isMissing)
        }
    }

    /// The commits that changed a file or folder of the store, newest first; the empty path is the whole store.
    public func entries(of path: FilePath, limit: Int) throws(Failure) -> [Entry] {
        var entries: [Entry] = []
        try visitEntries(of: path, limit: limit) { entries.append($0) }
        return entries
    }

    /// As `entries`; `body` is handed each as soon as it is found.
    /// - Parameter moment: those that were made before are left out, in seconds since 1970.
    public func visitEntries(
        of path: FilePath, since moment: Int64? = nil, limit: Int, _ body: (Entry) -> Void
    ) throws(Failure) {
        try reading { () throws(GitError) in
            try repository.visitHistory(of: path, from: tip, since: moment, limit: limit) {
                change throws(GitError) in
                body(
                    Entry(
                        commit: change.commit.id.hex, time: change.commit.author.time,
                        author: change.commit.author.name, subject: try subject(of: change),
                        path: change.item == nil ? nil : change.path, changed: try changedSecrets(in: change))
                )
            }
        }
    }

    private func changedSecrets(in change: PathChange) throws(GitError) -> [FilePath] {
        guard change.item == nil else { return [] }
        let all = try repository.differences(from: change.commit.parents.first, to: change.commit.id)
        return all.map(\.path).filter { $0.starts(with: change.path) && $0.isSecretName }
    }

    private func subject(of change: PathChange) throws(GitError) -> String {
        let commit = change.commit
        let first = commit.message.prefix { !$0.isNewline }
        guard !change.path.isEmpty, CommitMessage.isOfSeveral(first) else { return String(first) }
        let all = try repository.differences(from: commit.parents.first, to: commit.id)
        let here = all.filter { $0.path.starts(with: change.path) }
        let renames = here.compactMap { one -> PendingChanges.Rename? in
            guard (one.old == nil) != (one.new == nil) else { return nil }
            let other = all.first {
                one.old == nil ? $0.new == nil && $0.old == one.new : $0.old == nil && $0.new == one.old
            }
            return other.map {
                one.old == nil
                    ? PendingChanges.Rename(from: $0.path, to: one.path)
                    : PendingChanges.Rename(from: one.path, to: $0.path)
            }
        }
        let ends = renames.flatMap { [$0.from, $0.to] }
        let told = here + all.filter { one in ends.contains(one.path) && !here.contains(one) }
        let changes = told.map {
            ($0.path, $0.old == nil ? TreeChange.Kind.added : $0.new == nil ? .removed : .modified)
        }
        let message = CommitMessage(changes, renames: renames)
        return message.lines.count == 1 ? message.lines[0] : String(message.text.prefix { !$0.isNewline })
    }

    /// When the text of each secret was changed last: another name or other recipients are no change of it, and neither is that
    /// it was removed and restored.
    public func ages(below folder: FilePath) throws(Failure) -> [Age] {
        try reading { () throws(GitError) in
            let changes = try repository.lastChanges(
                below: folder, from: tip, leavingOut: { CommitMessage.isReencryption($0.message) },
                restoredFrom: { CommitMessage.restoredCommit($0.message) })
            return changes.compactMap { path, commit in
                guard path.isSecretName else { return nil }
                return Age(
                    path: path, time: commit.author.time, author: commit.author.name, commit: commit.id.hex)
            }
        }
    }

    private func reading<Value>(_ work: () throws(GitError) -> Value) throws(Failure) -> Value {
        return try rethrowing(work()) { (error: GitError) in
            Failure(message: "cannot read the history: \(error.message).")
        }
    }
}
