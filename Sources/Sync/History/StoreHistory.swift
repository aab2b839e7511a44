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
        /// The first line of its message.
        public var subject: String
        /// The secret's path at the time, relative to the store; nil for a folder's history.
        public var path: FilePath?
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
    }

    let store: Store
    let repository: Repository
    private let tip: ObjectID

    /// The history of a store.
    /// - Throws: `Failure` when it has none.
    public init(_ store: Store) throws(Failure) {
        self.store = store
        do throws(GitError) {
            guard let repository = try store.repositories.own() else {
                throw GitError(code: .notFound, message: "it is no git repository")
            }
            self.repository = repository
            tip = try repository.commit(named: "HEAD")
        } catch {
            throw Failure(message: "the store \"\(store.name)\" has no history: \(error.message).")
        }
    }

    /// The commits that changed a file or folder of the store, newest first; the empty path is the whole store.
    public func entries(of path: FilePath, limit: Int) throws(Failure) -> [Entry] {
        try reading { () throws(GitError) in
            try repository.history(of: path, from: tip, limit: limit).map { change in
                Entry(
                    commit: change.commit.id.hex, time: change.commit.author.time,
                    author: change.commit.author.name,
                    subject: String(change.commit.message.prefix { !$0.isNewline }),
                    path: change.item == nil ? nil : change.path)
            }
        }
    }

    /// When each secret was changed last.
    public func ages(below folder: FilePath) throws(Failure) -> [Age] {
        try reading { () throws(GitError) in
            try repository.lastChanges(below: folder, from: tip).compactMap { path, commit in
                guard path.isSecretName else { return nil }
                return Age(
                    path: path, time: commit.author.time, author: commit.author.name, commit: commit.id.hex)
            }
        }
    }

    private func reading<Value>(_ work: () throws(GitError) -> Value) throws(Failure) -> Value {
        return try rethrowing(work()) { (error: GitError) in
            Failure(message: "the history cannot be read: \(error.message).")
        }
    }
}
