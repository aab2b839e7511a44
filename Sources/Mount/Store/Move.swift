import Stores
import SystemPackage

/// A folder in which a name is changed.
struct FolderPlace: Sendable {
    var node: Node
    /// Its path on disk.
    var path: FilePath
}

/// A rename that is being looked at: where from, where to, and what lies there.
struct Move: Sendable {
    var node: Node
    /// nil when the source is only in memory.
    var sourceStatus: FileStatus?
    /// The path on disk of what is moved.
    var source: FilePath
    var folder: FolderPlace
    /// The new visible name.
    var name: FilePath.Component
    /// The path on disk that it is to have.
    var destination: FilePath
    /// What is shown under the new name now.
    var replaced: Node?
    /// What lies on disk at `destination`, shown or parked.
    var replacedStatus: FileStatus?
    /// What is shown under the new name and lies under another name on disk than what is moved there will have: a link
    /// `l` in the way of a secret `l.gpg`. It goes once that is in place.
    var superseded: FilePath?
    /// The new name is that of a scratch file, and nothing else has it.
    var isToScratch: Bool

    var backing: FilePath.Component { destination.lastComponent ?? name }
}

/// A rename that is done and not yet durable.
struct DoneMove: Sendable {
    /// What happened to links because of it.
    var links: [Change]
    /// Those in which names have changed.
    var folders: [ChangedFolder]

    /// Makes it durable: the new name first.
    func synchronize() throws(Errno) {
        for folder in folders { try folder.synchronize() }
    }
}
