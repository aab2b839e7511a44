import CFuse
import Glibc

/// The flags of open(2), as the kernel passes them on. `O_CREAT`, `O_EXCL` and `O_NOCTTY` it has dealt with,
/// except that `create` sees `O_EXCL`.
public struct OpenFlags: RawRepresentable, Sendable, Hashable {
    /// The bits as open(2) has them.
    public var rawValue: Int32

    /// Wraps the bits.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    private var accessMode: Int32 { rawValue & O_ACCMODE }

    /// Opened for reading, or for both.
    public var isReadable: Bool { accessMode == O_RDONLY || accessMode == O_RDWR }
    /// Opened for writing, or for both.
    public var isWritable: Bool { accessMode == O_WRONLY || accessMode == O_RDWR }
    /// `O_APPEND`: every write goes to the end, which the file system must see to itself.
    public var appends: Bool { rawValue & O_APPEND != 0 }
    /// `O_TRUNC`: the open also empties the file; no separate truncation follows.
    public var truncates: Bool { rawValue & O_TRUNC != 0 }
    /// `O_EXCL`.
    public var isExclusive: Bool { rawValue & O_EXCL != 0 }
    /// `O_DIRECTORY`.
    public var isDirectory: Bool { rawValue & O_DIRECTORY != 0 }
    /// `O_NOFOLLOW`.
    public var noFollow: Bool { rawValue & O_NOFOLLOW != 0 }
    /// `O_SYNC` or `O_DSYNC`: writes are to be durable when they return. `O_SYNC` contains the bit of `O_DSYNC`.
    public var isSynchronous: Bool { rawValue & O_DSYNC != 0 }
}

/// The answer to an open: the handle and how the kernel treats the open file.
public struct Opened: Sendable {
    /// What the kernel hands back with every operation on the open file.
    public var handle: HandleNumber
    /// Reads and writes bypass the page cache, sizes don't bound them, and shared mmap is refused.
    public var directIO: Bool
    /// Pages cached by an earlier open stay valid. Of a directory: the entries.
    public var keepCache: Bool
    /// close(2) sends no flush; saves a round trip where nothing was written.
    public var noFlush: Bool
    /// lseek(2) is refused.
    public var nonSeekable: Bool
    /// Of a directory: the kernel may remember what readdir gave.
    public var cachesDirectory: Bool

    /// Makes the answer.
    public init(
        handle: HandleNumber, directIO: Bool = false, keepCache: Bool = false, noFlush: Bool = false,
        nonSeekable: Bool = false, cachesDirectory: Bool = false
    ) {
        self.handle = handle
        self.directIO = directIO
        self.keepCache = keepCache
        self.noFlush = noFlush
        self.nonSeekable = nonSeekable
        self.cachesDirectory = cachesDirectory
    }

    var fileInfo: fuse_file_info {
        var info = fuse_file_info()
        info.fh = handle.rawValue
        info.direct_io = directIO ? 1 : 0
        info.keep_cache = keepCache ? 1 : 0
        info.noflush = noFlush ? 1 : 0
        info.nonseekable = nonSeekable ? 1 : 0
        info.cache_readdir = cachesDirectory ? 1 : 0
        return info
    }
}

/// The flags of renameat2(2).
public struct RenameFlags: OptionSet, Sendable {
    /// The bits as renameat2(2) has them; bits without a name here may be set.
    public var rawValue: UInt32

    /// Wraps the bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// `RENAME_NOREPLACE`: fail with `fileExists` when the new name is taken. mv(1) uses it.
    public static let noReplace = RenameFlags(rawValue: 1)
    /// `RENAME_EXCHANGE`: both names exist, and change places.
    public static let exchange = RenameFlags(rawValue: 2)
}

/// The flags of setxattr(2).
public struct ExtendedAttributeFlags: OptionSet, Sendable {
    /// The bits as setxattr(2) has them.
    public var rawValue: Int32

    /// Wraps the bits.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// `XATTR_CREATE`: fail with `fileExists` when the attribute is there.
    public static let create = ExtendedAttributeFlags(rawValue: 1)
    /// `XATTR_REPLACE`: fail with `ENODATA` when it isn't.
    public static let replace = ExtendedAttributeFlags(rawValue: 2)
}
