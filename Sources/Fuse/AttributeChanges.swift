import CFuse
import Glibc
import System

/// What chmod, chown, truncate and utimensat want changed; nil is left as it is.
public struct AttributeChanges: Sendable {
    /// A new access or modification time.
    public enum TimeChange: Sendable, Hashable {
        /// The time at which the change is made.
        case now
        /// This time.
        case at(FileTime)
    }

    /// The new length in bytes: truncate(2) or ftruncate(2).
    public var size: Int64?
    /// The new permissions, the low twelve bits of a mode.
    public var permissions: UInt16?
    /// The new owner.
    public var userID: UInt32?
    /// The new group.
    public var groupID: UInt32?
    /// The new access time.
    public var accessTime: TimeChange?
    /// The new modification time.
    public var modificationTime: TimeChange?
    /// The new change time; only kernels with a writeback cache send it.
    public var changeTime: FileTime?

    /// Makes a change of nothing, to fill in.
    public init() {}

    init(_ status: stat, set: Int32) {
        func has(_ bit: Int32) -> Bool { set & bit != 0 }
        if has(FUSE_SET_ATTR_SIZE) { size = Int64(status.st_size) }
        if has(FUSE_SET_ATTR_MODE) { permissions = UInt16(status.st_mode & 0o7777) }
        if has(FUSE_SET_ATTR_UID) { userID = status.st_uid }
        if has(FUSE_SET_ATTR_GID) { groupID = status.st_gid }
        if has(FUSE_SET_ATTR_ATIME_NOW) {
            accessTime = .now
        } else if has(FUSE_SET_ATTR_ATIME) {
            accessTime = .at(FileTime(status.st_atim))
        }
        if has(FUSE_SET_ATTR_MTIME_NOW) {
            modificationTime = .now
        } else if has(FUSE_SET_ATTR_MTIME) {
            modificationTime = .at(FileTime(status.st_mtim))
        }
        if has(FUSE_SET_ATTR_CTIME) { changeTime = FileTime(status.st_ctim) }
    }
}
