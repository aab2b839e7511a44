import Glibc
import System

/// What kind of thing an inode is.
public enum FileKind: Sendable {
    /// A file with bytes.
    case regular
    /// A directory.
    case directory
    /// A symbolic link.
    case symbolicLink

    /// The file type bits of `st_mode`.
    var modeBits: mode_t {
        switch self {
        case .regular: S_IFREG
        case .directory: S_IFDIR
        case .symbolicLink: S_IFLNK
        }
    }
}

/// What stat(2) shows of an inode.
public struct Attributes: Sendable {
    /// The inode's number, `st_ino`.
    public var inode: InodeNumber
    /// File, directory or symbolic link.
    public var kind: FileKind
    /// The low twelve bits of `st_mode`.
    public var permissions: UInt16
    /// How many names the inode has.
    public var linkCount: UInt64
    /// The owner.
    public var userID: UInt32
    /// The owning group.
    public var groupID: UInt32
    /// The length in bytes. The kernel reads no further than this unless the file is opened with direct I/O.
    public var size: Int64
    /// Last read.
    public var accessTime: FileTime
    /// Last change of the content.
    public var modificationTime: FileTime
    /// Last change of content or attributes.
    public var changeTime: FileTime
    /// The block size that programs are told to prefer, in bytes. `st_blocks` is derived from `size`.
    public var blockSize: Int64

    /// Makes attributes; every time not given is that of the modification.
    public init(
        inode: InodeNumber, kind: FileKind, permissions: UInt16, linkCount: UInt64 = 1, userID: UInt32,
        groupID: UInt32, size: Int64, accessTime: FileTime? = nil, modificationTime: FileTime,
        changeTime: FileTime? = nil, blockSize: Int64 = 4096
    ) {
        self.inode = inode
        self.kind = kind
        self.permissions = permissions
        self.linkCount = linkCount
        self.userID = userID
        self.groupID = groupID
        self.size = size
        self.accessTime = accessTime ?? modificationTime
        self.modificationTime = modificationTime
        self.changeTime = changeTime ?? modificationTime
        self.blockSize = blockSize
    }

    var status: stat {
        var status = stat()
        status.st_ino = ino_t(inode.rawValue)
        status.st_mode = kind.modeBits | mode_t(permissions & 0o7777)
        status.st_nlink = nlink_t(linkCount)
        status.st_uid = userID
        status.st_gid = groupID
        status.st_size = off_t(size)
        status.st_blksize = blksize_t(blockSize)
        // st_blocks counts 512 bytes each, whatever st_blksize is.
        status.st_blocks = blkcnt_t((max(0, size) + 511) / 512)
        status.st_atim = timespec(accessTime)
        status.st_mtim = timespec(modificationTime)
        status.st_ctim = timespec(changeTime)
        return status
    }
}

/// The answer to a lookup, and to everything that makes a new name. Each one that reaches the kernel raises the
/// lookup count of its inode by one; `Filesystem.forget` lowers it.
public struct Entry: Sendable {
    /// The inode behind the name; zero says "no such name" and lets the kernel remember that for `entryTimeout`.
    public var inode: InodeNumber
    /// Its attributes.
    public var attributes: Attributes
    /// For how many seconds the kernel may answer stat(2) from `attributes`.
    public var attributeTimeout: Double
    /// For how many seconds the kernel may resolve the name by itself.
    public var entryTimeout: Double

    /// Makes an entry. The timeouts are in seconds; zero makes the kernel ask every time.
    public init(
        inode: InodeNumber, attributes: Attributes, attributeTimeout: Double = 0, entryTimeout: Double = 0
    ) {
        self.inode = inode
        self.attributes = attributes
        self.attributeTimeout = attributeTimeout
        self.entryTimeout = entryTimeout
    }
}
