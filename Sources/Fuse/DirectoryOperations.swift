import CFuse
import Glibc
import SystemPackage

/// Open, read and close a directory.
func addDirectoryOperations(_ table: inout fuse_lowlevel_ops) {
    table.opendir = { request, inode, info in
        let inode = InodeNumber(rawValue: inode)
        let flags = openFlags(info)
        guard let request else { return }
        @Sendable func answer(_ opened: Opened) -> Answer {
            .opened(
                OpenHandles.Handle(inode: inode, number: opened.handle, isDirectory: true), opened, flags)
        }
        let server = Server.of(request)
        let atOnce = Result { () throws(Errno) in
            try server.filesystem.openDirectoryAtOnce(inode, flags: flags)
        }
        if case .success(nil) = atOnce {
            return answerWhenReady(request, at: inode.rawValue) { filesystem, caller throws(Errno) in
                try filesystem.openDirectory(inode, flags: flags, for: caller).map { $0.map(answer) }
            }
        }
        server.answer(request) { () throws(Errno) in
            guard let opened = try atOnce.get() else { throw .ioError }
            return answer(opened)
        }
    }
    table.readdir = { request, inode, room, offset, info in
        guard let request else { return }
        let server = Server.of(request)
        let (inode, handle) = (InodeNumber(rawValue: inode), openHandle(info))
        server.answerListing(request, of: inode, room: room) { add throws(Errno) in
            try server.filesystem.readDirectory(inode, handle: handle, offset: Int64(offset), add)
        }
    }
    table.readdirplus = { request, inode, room, offset, info in
        guard let request else { return }
        let server = Server.of(request)
        let (inode, handle) = (InodeNumber(rawValue: inode), openHandle(info))
        server.answerEntries(request, of: inode, room: room) { add throws(Errno) in
            try server.filesystem.readDirectoryWithEntries(inode, handle: handle, offset: Int64(offset), add)
        }
    }
    table.releasedir = { request, inode, info in
        guard let request else { return }
        let server = Server.of(request)
        let handle = OpenHandles.Handle(
            inode: InodeNumber(rawValue: inode), number: openHandle(info), isDirectory: true)
        server.answer(request) { () throws(Errno) in
            server.release(handle, OpenFlags(rawValue: 0))
            return .done
        }
    }
    table.fsyncdir = { request, inode, dataOnly, info in
        let handle = openHandle(info)
        answerLater(request, at: inode) { filesystem, _ throws(Errno) in
            try filesystem.synchronizeDirectory(
                InodeNumber(rawValue: inode), handle: handle, dataOnly: dataOnly != 0)
            return .done
        }
    }
}

/// Extended attributes.
func addExtendedAttributeOperations(_ table: inout fuse_lowlevel_ops) {
    table.getxattr = { request, inode, name, room in
        // A value may have to be asked of another program.
        let name = copy(name)
        answerLater(request, at: inode) { filesystem, _ throws(Errno) in
            .extendedAttribute(
                try filesystem.extendedAttribute(InodeNumber(rawValue: inode), name: name), room: room)
        }
    }
    table.listxattr = { request, inode, room in
        answer(request) { filesystem throws(Errno) in
            let names = try filesystem.extendedAttributeNames(InodeNumber(rawValue: inode))
            return .extendedAttribute(names.flatMap { $0 + [0] }, room: room)
        }
    }
    table.setxattr = { request, inode, name, value, count, flags in
        answer(request) { filesystem throws(Errno) in
            try filesystem.setExtendedAttribute(
                InodeNumber(rawValue: inode), name: copy(name),
                value: UnsafeRawBufferPointer(start: value, count: count),
                flags: ExtendedAttributeFlags(rawValue: flags))
            return .done
        }
    }
    table.removexattr = { request, inode, name in
        answer(request) { filesystem throws(Errno) in
            try filesystem.removeExtendedAttribute(InodeNumber(rawValue: inode), name: copy(name))
            return .done
        }
    }
}
