import Glibc
public import System
public import SystemPackage

/// A point in time as the file system keeps it.
public struct FileTime: Sendable, Hashable {
    /// Seconds since 1970.
    public var seconds: Int64
    /// 0 to 999,999,999.
    public var nanoseconds: Int64

    /// A time from its two parts.
    public init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    /// The system's clock, now.
    public static var now: FileTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return FileTime(time)
    }
}

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
public struct FileStatus: Sendable, Hashable {
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
    /// Whether two looks at a path saw the same bytes. A changed ctime alone tells of a rename or a link, not of
    /// other content.
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

extension timespec {
    /// A time for utimensat(2); nil leaves it as it is (UTIME_OMIT, a macro that is not imported).
    init(settingTo time: FileTime?) {
        if let time {
            self.init(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
        } else {
            self.init(tv_sec: 0, tv_nsec: (1 << 30) - 2)
        }
    }
}
