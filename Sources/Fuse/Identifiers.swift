public import SystemPackage

/// The name of a directory entry: any bytes but `/` and NUL, so it need not be UTF-8.
public typealias Name = FilePath.Component

/// The number by which the kernel and a `Filesystem` name an inode. Never reuse one while the kernel may
/// still know it; never reusing one at all is simplest, there are 2^64.
public struct InodeNumber: RawRepresentable, Hashable, Sendable, Comparable {
    /// The number as the kernel has it, also `st_ino`. Zero is no inode.
    public var rawValue: UInt64

    /// Wraps a number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The root directory of the mount; the kernel knows it without a lookup and never forgets it.
    public static let root = InodeNumber(rawValue: 1)

    /// Orders by number.
    public static func < (left: InodeNumber, right: InodeNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The number that a `Filesystem` chose for an open file or directory (`fuse_file_info.fh`).
public struct HandleNumber: RawRepresentable, Hashable, Sendable {
    /// The number as the kernel hands it back with every operation on the open file.
    public var rawValue: UInt64

    /// Wraps a number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
