import CFuse
import Glibc
import SystemPackage

/// Open, read and close a directory.
func addDirectoryOperations(_ table: inout fuse_lowlevel_ops) {
    table.opendir = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        let inode = InodeNumber(rawValue: inode)
        let flags = openFlags(info)
        server.answer(request) { request throws(Errno) in
            let opened = try server.filesystem.openDirectory(request, inode, flags: flags)
            let handle = OpenHandles.Handle(inode: inode, number: opened.handle, isDirectory: true)
            return .opened(handle, opened, flags)
        }
    }
    table.readdir = { request, inode, room, offset, info in
        let raw = present(request)
        let server = Server.of(raw)
        server.answerRead(raw) { request, reply throws(Errno) in
            var buffer = DirectoryBuffer(byteCount: room, request: raw)
            try server.filesystem.readDirectory(
                request, InodeNumber(rawValue: inode), handle: openHandle(info), offset: Int64(offset),
                into: &buffer)
            buffer.withBytes(reply)
        }
    }
    table.releasedir = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { _ throws(Errno) in
            let handle = OpenHandles.Handle(
                inode: InodeNumber(rawValue: inode), number: openHandle(info), isDirectory: true)
            server.release(handle, OpenFlags(rawValue: 0))
            return .done
        }
    }
    table.fsyncdir = { request, inode, dataOnly, info in
        let request = present(request)
        let server = Server.of(request)
        let handle = openHandle(info)
        server.answerLater(request) { request throws(Errno) in
            try server.filesystem.synchronizeDirectory(
                request, InodeNumber(rawValue: inode), handle: handle, dataOnly: dataOnly != 0)
            return .done
        }
    }
}

/// Extended attributes.
func addExtendedAttributeOperations(_ table: inout fuse_lowlevel_ops) {
    table.getxattr = { request, inode, name, room in
        let request = present(request)
        let server = Server.of(request)
        // A value may have to be asked of another program.
        let name = copy(name)
        server.answerLater(request) { request throws(Errno) in
            .extendedAttribute(
                try server.filesystem.extendedAttribute(request, InodeNumber(rawValue: inode), name: name),
                room: room)
        }
    }
    table.listxattr = { request, inode, room in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            let names = try server.filesystem.extendedAttributeNames(request, InodeNumber(rawValue: inode))
            return .extendedAttribute(names.flatMap { $0 + [0] }, room: room)
        }
    }
    table.setxattr = { request, inode, name, value, count, flags in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            try server.filesystem.setExtendedAttribute(
                request, InodeNumber(rawValue: inode), name: copy(name),
                value: UnsafeRawBufferPointer(start: value, count: count),
                flags: ExtendedAttributeFlags(rawValue: flags))
            return .done
        }
    }
    table.removexattr = { request, inode, name in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            try server.filesystem.removeExtendedAttribute(
                request, InodeNumber(rawValue: inode), name: copy(name))
            return .done
        }
    }
}
