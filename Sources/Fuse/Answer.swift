import CFuse
import Glibc
import SystemPackage

/// What a request is answered with when it succeeds.
enum Answer: Sendable {
    case done
    case entry(Entry)
    case attributes(Attributes, timeout: Double)
    case target([UInt8])
    /// Of a file or a directory; release gets the flags if the kernel never asks for it.
    case opened(OpenHandles.Handle, Opened, OpenFlags)
    case created(Entry, Opened, OpenFlags)
    case written(Int)
    case position(Int64)
    case statistics(FileSystemStatistics)
    /// An attribute or the list of them, and how much the caller has room for: zero asks for the size.
    case extendedAttribute([UInt8], room: Int)
}

extension Request {
    func fail(_ error: Errno) {
        close()
        fuse_reply_err(raw, error.rawValue)
    }

    /// Returns whether the kernel took it.
    @discardableResult
    func send(bytes: UnsafeRawBufferPointer) -> Bool {
        close()
        return fuse_reply_buf(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count) == 0
    }

    /// Sends the answer. When the kernel no longer takes it, because the mount is gone, what the answer promised to
    /// the kernel is taken back here, for it will never be forgotten or released from there.
    func send(_ answer: Answer, from server: Server) {
        close()
        switch answer {
        case .done: fuse_reply_err(raw, 0)
        case .entry(let entry):
            var parameters = entry.parameters
            if fuse_reply_entry(raw, &parameters) != 0 { server.filesystem.takeBack(entry) }
        case .attributes(let attributes, let timeout):
            var status = attributes.status
            fuse_reply_attr(raw, &status, timeout)
        case .target(let target):
            (target + [0]).withUnsafeBytes { bytes in
                _ = fuse_reply_readlink(raw, bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
            }
        case .opened(let handle, let opened, let flags):
            var info = opened.fileInfo
            server.openHandles.add(handle, flags)
            if fuse_reply_open(raw, &info) != 0 { server.release(handle, flags) }
        case .created(let entry, let opened, let flags):
            var parameters = entry.parameters
            var info = opened.fileInfo
            let handle = OpenHandles.Handle(inode: entry.inode, number: opened.handle, isDirectory: false)
            server.openHandles.add(handle, flags)
            if fuse_reply_create(raw, &parameters, &info) != 0 {
                server.release(handle, flags)
                server.filesystem.takeBack(entry)
            }
        case .written(let count): fuse_reply_write(raw, count)
        case .position(let offset): fuse_reply_lseek(raw, off_t(offset))
        case .statistics(let statistics):
            var status = statistics.status
            fuse_reply_statfs(raw, &status)
        case .extendedAttribute(let value, let room):
            if room == 0 {
                fuse_reply_xattr(raw, value.count)
            } else if value.count > room {
                fuse_reply_err(raw, ERANGE)
            } else {
                value.withUnsafeBytes { bytes in
                    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                    _ = fuse_reply_buf(raw, start, bytes.count)
                }
            }
        }
    }
}

extension Filesystem {
    /// The kernel never got to know of an entry whose lookup is counted.
    func takeBack(_ entry: Entry) {
        if entry.inode.rawValue != 0 { forget(entry.inode, count: 1) }
    }
}

extension Entry {
    var parameters: fuse_entry_param {
        var parameters = fuse_entry_param()
        parameters.ino = inode.rawValue
        parameters.attr = attributes.status
        parameters.attr_timeout = attributeTimeout
        parameters.entry_timeout = entryTimeout
        return parameters
    }
}
