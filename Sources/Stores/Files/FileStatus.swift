import Glibc
public import System
public import SystemPackage

/// Device, inode, size, mtime and ctime of a ciphertext: while these are unchanged, what is known of its
/// plaintext still holds (the map's "identity of a ciphertext").
public struct CiphertextIdentity: Sendable, Hashable {
    /// st_dev.
    public var device: UInt64
    /// st_ino.
    public var inode: UInt64
    /// st_size, in bytes.
    public var size: Int64
    /// st_mtim.
    public var modified: FileTime
    /// st_ctim.
    public var changed: FileTime
}

/// The facts of stat(2) that passdir uses.
public struct FileStatus: Sendable, Equatable {
    /// Regular file, directory, symbolic link or other.
    public var kind: EntryKind
    /// Device, inode, size and times.
    public var identity: CiphertextIdentity
    /// st_nlink.
    public var linkCount: UInt64
    /// st_atim.
    public var accessed: FileTime

    init(_ raw: stat) {
        kind = EntryKind(mode: raw.st_mode)
        identity = CiphertextIdentity(
            device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino), size: Int64(raw.st_size),
            modified: FileTime(raw.st_mtim), changed: FileTime(raw.st_ctim))
        linkCount = UInt64(raw.st_nlink)
        accessed = FileTime(raw.st_atim)
    }
}

extension FileStatus {
    /// A look at a file is no change of it: the access time doesn't count.
    public static func == (one: FileStatus, other: FileStatus) -> Bool {
        one.kind == other.kind && one.identity == other.identity && one.linkCount == other.linkCount
    }

    /// Whether a file is as another look found it. Its bytes may be others though its size and mtime are the same, as whoever
    /// writes in place can set the mtime: only the ctime, which nobody can set, tells.
    public func isUnchanged(since other: FileStatus) -> Bool { identity == other.identity }

    /// Whether two looks saw the same bytes, where a rename or a link of ours lies between them, which changes the ctime.
    public func isSameContent(as other: FileStatus) -> Bool {
        identity.device == other.identity.device && identity.inode == other.identity.inode
            && identity.size == other.identity.size && identity.modified == other.identity.modified
    }
}

/// An entry of a folder on disk.
public struct DirectoryEntry: Sendable, Hashable {
    /// The name on disk.
    public var name: FilePath.Component
    /// What it is.
    public var kind: EntryKind
}
