public import SystemPackage

/// A committed-to-be event of a store. Paths are of the files on disk, relative to the store.
public enum Change: Sendable, Hashable {
    /// A file was written, for the first time or anew.
    case saved(FilePath)
    /// A file or symbolic link is gone.
    case removed(FilePath)
    /// A file or a whole folder has another name.
    case renamed(from: FilePath, to: FilePath)
}

/// Takes changes of a store and returns at once: called by threads that serve the file system.
public protocol ChangeSink: Sendable {
    /// Notes a change that is already durable on disk.
    func note(_ change: Change)
}
