import CFuse
import Glibc
import SystemPackage

/// Open, create and what ends an open file: all of it may block.
func addFileOperations(_ table: inout fuse_lowlevel_ops) {
    table.open = { request, inode, info in
        let inode = InodeNumber(rawValue: inode)
        let flags = openFlags(info)
        @Sendable func answer(_ opened: Opened) -> Answer {
            .opened(
                OpenHandles.Handle(inode: inode, number: opened.handle, isDirectory: false), opened, flags)
        }
        guard let request else { return }
        let server = Server.of(request)
        let opened = server.atOnce(inode) {
            server.filesystem.openAtOnce(inode, flags: flags, for: Request.thread(of: request))
        }
        if let opened { return server.answer(request) { () throws(Errno) in answer(opened) } }
        answerWhenReady(request, at: inode.rawValue) { filesystem, caller throws(Errno) in
            try filesystem.open(inode, flags: flags, for: caller).map { $0.map(answer) }
        }
    }
    table.create = { request, parent, bytes, mode, info in
        let flags = openFlags(info)
        let name = Result { () throws(Errno) in try copyName(bytes) }
        answerWhenReady(request, at: parent) { filesystem, caller throws(Errno) in
            try filesystem.create(
                in: InodeNumber(rawValue: parent), name: name.get(), permissions: UInt16(mode & 0o7777),
                flags: flags, for: caller
            ).map { created in created.map { .created($0.0, $0.1, flags) } }
        }
    }
    table.flush = { request, inode, info in
        let handle = openHandle(info)
        // What was written is saved, whatever becomes of the one who wrote it.
        answerLater(request, at: inode, evenForTheKilled: true) { filesystem, caller throws(Errno) in
            try filesystem.flush(InodeNumber(rawValue: inode), handle: handle, for: caller)
            return .done
        }
    }
    table.release = { request, inode, info in
        guard let request else { return }
        let server = Server.of(request)
        let handle = OpenHandles.Handle(
            inode: InodeNumber(rawValue: inode), number: openHandle(info), isDirectory: false)
        let flags = openFlags(info)
        guard flags.isWritable else {
            // Nothing is saved, so nothing is waited for.
            return server.answer(request) { () throws(Errno) in
                server.release(handle, flags)
                return .done
            }
        }
        answerLater(request, at: inode, evenForTheKilled: true) { _, _ throws(Errno) in
            server.release(handle, flags)
            return .done
        }
    }
    table.fsync = { request, inode, dataOnly, info in
        let handle = openHandle(info)
        answerLater(request, at: inode) { filesystem, _ throws(Errno) in
            try filesystem.synchronize(
                InodeNumber(rawValue: inode), handle: handle, dataOnly: dataOnly != 0)
            return .done
        }
    }
    table.fallocate = { request, inode, mode, offset, length, info in
        let handle = openHandle(info)
        answerLater(request, at: inode) { filesystem, _ throws(Errno) in
            try filesystem.allocate(
                InodeNumber(rawValue: inode), handle: handle, mode: mode, offset: Int64(offset),
                length: Int64(length))
            return .done
        }
    }
}

/// What moves bytes: at once, on the receiving thread, from and to memory that is not copied on the way.
func addContentOperations(_ table: inout fuse_lowlevel_ops) {
    table.read = { request, inode, count, offset, info in
        guard let request else { return }
        let server = Server.of(request)
        server.answerRead(request) { reply throws(Errno) in
            try server.filesystem.read(
                InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset), count: count,
                reply: reply)
        }
    }
    table.write = { request, inode, bytes, count, offset, info in
        answer(request) { filesystem throws(Errno) in
            .written(
                try filesystem.write(
                    InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                    bytes: UnsafeRawBufferPointer(start: bytes, count: count),
                    isFromPageCache: info?.pointee.writepage == 1))
        }
    }
    table.lseek = { request, inode, offset, whence, info in
        answer(request) { filesystem throws(Errno) in
            .position(
                try filesystem.seek(
                    InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                    whence: whence))
        }
    }
}
