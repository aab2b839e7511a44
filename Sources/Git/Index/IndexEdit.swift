import CGit
import Glibc
import System
import SystemPackage

/// What one path of the index is to become.
struct IndexEdit: Sendable {
    var path: FilePath
    /// What is to be there; nil: nothing.
    var entry: IndexEntry?
}

/// An entry of the index but its name: a blob, and the metadata of the file that holds the same bytes.
struct IndexEntry: Sendable {
    var blob: TreeEntry
    /// Nothing but zeros when no file is known to hold the bytes: git then compares.
    var file = FileFacts()

    /// The metadata that git compares to tell whether a file was changed, cut to the 32 bits that the index has.
    struct FileFacts: Equatable, Sendable {
        var changed = IndexTime()
        var modified = IndexTime()
        var device: UInt32 = 0
        var inode: UInt32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
        var size: UInt32 = 0
    }

    /// - Parameters:
    ///   - stat: the metadata of the file, when its bytes are those of the blob.
    ///   - readAt: the clock of file times (`CLOCK_REALTIME_COARSE`) before the file was read.
    init(_ blob: TreeEntry, stat: stat?, readAt: timespec) {
        self.blob = blob
        guard let stat else { return }
        file.changed = IndexTime(stat.st_ctim)
        file.modified = IndexTime(stat.st_mtim)
        file.device = UInt32(truncatingIfNeeded: stat.st_dev)
        file.inode = UInt32(truncatingIfNeeded: stat.st_ino)
        file.user = stat.st_uid
        file.group = stat.st_gid
        // Its missing size makes git look again.
        let isSettled = !file.modified.mayChangeUnseen(since: IndexTime(readAt))
        file.size = isSettled ? UInt32(truncatingIfNeeded: stat.st_size) : 0
    }
}

/// A time as the index has it.
struct IndexTime: Comparable, Sendable {
    var seconds: Int32 = 0
    var nanoseconds: UInt32 = 0

    init() {}

    init(seconds: Int32, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    init(_ time: timespec) {
        seconds = Int32(truncatingIfNeeded: time.tv_sec)
        nanoseconds = UInt32(truncatingIfNeeded: time.tv_nsec)
    }

    /// Now, by the clock of file times.
    static func clock() -> timespec { timespec(on: CLOCK_REALTIME_COARSE) }

    /// Whether a file of this time that changes later may look as if it did not: git compares whole seconds, unless it
    /// was built otherwise.
    func mayChangeUnseen(since read: IndexTime) -> Bool { seconds >= read.seconds }

    static func < (one: IndexTime, other: IndexTime) -> Bool {
        one.seconds != other.seconds
            ? one.seconds < other.seconds : one.nanoseconds < other.nanoseconds
    }
}
