import Synchronization

/// What the kernel holds open. At the end of a lazy or forced unmount it drops the releases that nobody has received
/// yet; from this record they are made up for, so that a file system sees one release for each open without exception.
final class OpenHandles: Sendable {
    struct Handle: Hashable {
        var inode: InodeNumber
        var number: HandleNumber
        var isDirectory: Bool
    }

    /// The flags of each open. One number may stand for several opens, if the file system likes it so.
    private let flags = Mutex<[Handle: [OpenFlags]]>([:])

    /// To be called before the kernel learns of the handle: its release may come at once.
    func add(_ handle: Handle, _ openFlags: OpenFlags) {
        flags.withLock { $0[handle, default: []].append(openFlags) }
    }

    func remove(_ handle: Handle) {
        flags.withLock { flags in
            _ = flags[handle]?.popLast()
            if flags[handle]?.isEmpty == true { flags[handle] = nil }
        }
    }

    /// Releases what is left.
    func releaseAll(in filesystem: any Filesystem) {
        let left = flags.withLock { flags in
            let left = flags
            flags = [:]
            return left
        }
        for (handle, opens) in left {
            for openFlags in opens { filesystem.release(handle, openFlags) }
        }
    }
}

extension Filesystem {
    func release(_ handle: OpenHandles.Handle, _ flags: OpenFlags) {
        if handle.isDirectory {
            releaseDirectory(handle.inode, handle: handle.number)
        } else {
            release(handle.inode, handle: handle.number, flags: flags)
        }
    }
}
