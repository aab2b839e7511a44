import CFuse
import Glibc
import SystemPackage

/// Open, create and what ends an open file: all of it may block.
func addFileOperations(_ table: inout fuse_lowlevel_ops) {
    table.open = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        let inode = InodeNumber(rawValue: inode)
        let flags = openFlags(info)
        server.answerWhenReady(request) { request throws(Errno) in
            try server.filesystem.open(request, inode, flags: flags).map { opened in
                opened.map { opened in
                    let handle = OpenHandles.Handle(inode: inode, number: opened.handle, isDirectory: false)
                    return .opened(handle, opened, flags)
                }
            }
        }
    }
    table.create = { request, parent, bytes, mode, info in
        let request = present(request)
        let server = Server.of(request)
        let flags = openFlags(info)
        let name = Result { () throws(Errno) in try copyName(bytes) }
        server.answerWhenReady(request) { request throws(Errno) in
            try server.filesystem.create(
                request, in: InodeNumber(rawValue: parent), name: name.get(),
                permissions: UInt16(mode & 0o7777), flags: flags
            ).map { created in created.map { .created($0.0, $0.1, flags) } }
        }
    }
    table.flush = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        let handle = openHandle(info)
        // What was written is saved, whatever becomes of the one who wrote it.
        server.answerLater(request, evenForTheKilled: true) { request throws(Errno) in
            try server.filesystem.flush(request, InodeNumber(rawValue: inode), handle: handle)
            return .done
        }
    }
    table.release = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        let handle = OpenHandles.Handle(
            inode: InodeNumber(rawValue: inode), number: openHandle(info), isDirectory: false)
        let flags = openFlags(info)
        server.answerLater(request, evenForTheKilled: true) { _ throws(Errno) in
            server.release(handle, flags)
            return .done
        }
    }
    table.fsync = { request, inode, dataOnly, info in
        let request = present(request)
        let server = Server.of(request)
        let handle = openHandle(info)
        server.answerLater(request) { request throws(Errno) in
            try server.filesystem.synchronize(
                request, InodeNumber(rawValue: inode), handle: handle, dataOnly: dataOnly != 0)
            return .done
        }
    }
    table.fallocate = { request, inode, mode, offset, length, info in
        let request = present(request)
        let server = Server.of(request)
        let handle = openHandle(info)
        server.answerLater(request) { request throws(Errno) in
            try server.filesystem.allocate(
                request, InodeNumber(rawValue: inode), handle: handle, mode: mode, offset: Int64(offset),
                length: Int64(length))
            return .done
        }
    }
}

/// What moves bytes: at once, on the receiving thread, from and to memory that is not copied on the way.
func addContentOperations(_ table: inout fuse_lowlevel_ops) {
    table.read = { request, inode, count, offset, info in
        let request = present(request)
        let server = Server.of(request)
        server.answerRead(request) { request, reply throws(Errno) in
            try server.filesystem.read(
                request, InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                count: count, reply: reply)
        }
    }
    table.write = { request, inode, bytes, count, offset, info in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            .written(
                try server.filesystem.write(
                    request, InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                    bytes: UnsafeRawBufferPointer(start: bytes, count: count),
                    isFromPageCache: info?.pointee.writepage == 1))
        }
    }
    table.lseek = { request, inode, offset, whence, info in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            .position(
                try server.filesystem.seek(
                    request, InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                    whence: whence))
        }
    }
}
