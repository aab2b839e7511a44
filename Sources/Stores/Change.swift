public import SystemPackage

/// A committed-to-be event of a store. Paths are of the files on disk, relative to the store.
public enum Change: Sendable, Hashable {
    /// A file was written, for the first time or anew.
    case saved(FilePath)
    /// A file or symbolic link is gone.
    case removed(FilePath)
    /// A file or a whole folder has another name.
    case renamed(from: FilePath, to: FilePath)

    /// Where something is another now than it was.
    public var paths: [FilePath] {
        switch self {
        case .saved(let path), .removed(let path): [path]
        case .renamed(let from, let to): [from, to]
        }
    }
}

/// Gives a folder of a store the recipients that the bytes of a `.gpg-id` name: encrypts what is below anew, puts the
/// file in place and commits. Blocks until all of that is done, and throws with nothing changed; `.overtaken` where the
/// list that applies is another one than `tried`, which is what it was when this was first tried. `mayChange` throws where it may
/// not be made any more; it is asked before, and when all is encrypted.
public typealias RecipientChanger =
    @Sendable (
        _ folder: FilePath, _ file: [UInt8], _ tried: AppliedList, _ mayChange: () throws(StoreError) -> Void
    ) throws(StoreError) -> Void

/// Takes changes of a store and returns at once: called by threads that serve the file system.
public protocol ChangeSink: Sendable {
    /// Notes a change that is already durable on disk.
    /// - Parameter file: what was saved, as another program may have put something else there since, or nothing; nil where it is to
    ///   be looked for at its path.
    func note(_ change: Change, as file: HeldFile?)
    /// Names on disk are about to change by a rename, which is noted before `endRename` if it succeeds: nobody is to commit one
    /// half of it.
    func beginRename()
    /// Ends what `beginRename` began.
    func endRename()
    /// Whether a file stays out of git because `.gitignore` matches it.
    func isIgnored(_ path: FilePath) -> Bool
}

extension ChangeSink {
    /// For who commits nothing.
    public func beginRename() {}
    /// For who commits nothing.
    public func endRename() {}
    /// Notes a change of which nobody holds the file.
    public func note(_ change: Change) { note(change, as: nil) }
}
