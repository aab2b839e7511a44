public import Git
public import OpenPGP
public import System
public import SystemPackage

/// Tells what a store held, for whoever shows it. It reads git's objects, and may take long: not for a thread that others wait
/// for.
public protocol StorePast: Sendable {
    /// The state of a store that is meant by what was typed: a commit, tag or branch, or a day or time.
    /// - Throws: ENOENT, with a sentence, where it means none.
    func state(
        _ typed: String, of store: Store, cancellation: Cancellation
    ) throws(StoreError) -> PastState

    /// The entries of a folder of a state, as whoever made the commit named them.
    func entries(of folder: PastFolder, in store: Store) throws(StoreError) -> [PastEntry]

    /// The bytes of a file or the target of a link, as they were committed.
    func content(of blob: PastBlob, in store: Store) throws(StoreError) -> [UInt8]

    /// The versions of a secret, newest first, also of one that was removed; it is followed through renames. Another name is no
    /// new version.
    /// - Parameter secret: its path on disk.
    func versions(
        of secret: FilePath, in store: Store, cancellation: Cancellation
    ) throws(StoreError) -> [PastVersion]

    /// What a file of a commit was renamed to since, and all other files of today that hold the same; none where there are none.
    /// - Parameter path: its path on disk at that commit.
    func laterNames(
        of path: FilePath, holding blob: PastBlob, since commit: PastCommit, in store: Store,
        cancellation: Cancellation
    ) throws(StoreError) -> [FilePath]
}

/// A commit of a store.
public struct PastCommit: Sendable, Hashable {
    /// Its name.
    public let id: ObjectID
    /// When the change was made, by its author's clock, in seconds since 1970. It may be any number.
    public let time: Int64

    /// A commit of these parts.
    public init(id: ObjectID, time: Int64) { (self.id, self.time) = (id, time) }

    /// Its name in 40 hexadecimal digits.
    public var name: String { id.hex }

    /// The beginning of its name, in as many digits as `passdir log` prints.
    public var shortName: String { String(name.prefix(10)) }
}

/// A folder as it was, known by all that it held.
public struct PastFolder: Sendable, Hashable {
    /// Its tree.
    public let tree: ObjectID

    /// The folder of a tree.
    public init(tree: ObjectID) { self.tree = tree }
}

/// The bytes that a file held.
public struct PastBlob: Sendable, Hashable {
    /// Their name.
    public let id: ObjectID

    /// The bytes of a blob.
    public init(id: ObjectID) { self.id = id }
}

/// All that a store held at a commit.
public struct PastState: Sendable, Hashable {
    /// The commit.
    public let commit: PastCommit
    /// The store's folder.
    public let top: PastFolder

    /// A state of these parts.
    public init(commit: PastCommit, top: PastFolder) { (self.commit, self.top) = (commit, top) }
}

/// One entry of a folder as it was.
public struct PastEntry: Sendable, Hashable {
    /// What an entry is.
    public enum Content: Sendable, Hashable {
        case folder(PastFolder)
        case file(PastBlob)
        case link(PastBlob)
        /// A repository inside, of which a commit holds no more than a name.
        case submodule
    }

    /// Any bytes, as whoever made the commit chose.
    public let name: [UInt8]
    /// What it is.
    public let content: Content

    /// An entry of these parts.
    public init(name: [UInt8], content: Content) { (self.name, self.content) = (name, content) }

    /// What it is to a listing.
    public var kind: EntryKind {
        switch content {
        case .folder: .directory
        case .file: .regular
        case .link: .symbolicLink
        case .submodule: .other
        }
    }
}

/// A secret as it was from a commit on.
public struct PastVersion: Sendable, Hashable {
    /// The commit that made it so.
    public let commit: PastCommit
    /// What the secret was called then, on disk.
    public let path: FilePath
    /// Its ciphertext.
    public let blob: PastBlob

    /// A version of these parts.
    public init(commit: PastCommit, path: FilePath, blob: PastBlob) {
        (self.commit, self.path, self.blob) = (commit, path, blob)
    }
}
