import CFuse
import Glibc
import SystemPackage

/// libfuse's table of callbacks. Each turns C arguments into ours and hands them on; whatever goes to a worker is
/// copied first, since libfuse's arguments end with the callback. What is absent (locks, ioctl, poll,
/// copy_file_range) libfuse answers with ENOSYS: the kernel then does it itself or refuses it.
func operationTable() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    table.`init` = { data, connection in
        guard let data, let connection else { return }
        Unmanaged<Server>.fromOpaque(data).takeUnretainedValue().initialize(&connection.pointee)
    }
    addInodeOperations(&table)
    addNameOperations(&table)
    addFileOperations(&table)
    addContentOperations(&table)
    addDirectoryOperations(&table)
    addExtendedAttributeOperations(&table)
    return table
}

/// The request, which libfuse never leaves out.
func present(_ request: fuse_req_t?) -> fuse_req_t {
    guard let request else { fatalError("libfuse called without a request") }
    return request
}

/// Copies a name; nil would be one that the kernel does not send.
func copyName(_ bytes: UnsafePointer<CChar>?) throws(Errno) -> Name {
    guard let bytes, let name = Name(platformString: bytes) else { throw .invalidArgument }
    return name
}

/// Copies bytes up to NUL.
func copy(_ bytes: UnsafePointer<CChar>?) -> [UInt8] {
    guard let bytes else { return [] }
    return Array(UnsafeRawBufferPointer(start: bytes, count: strlen(bytes)))
}

func openHandle(_ info: UnsafeMutablePointer<fuse_file_info>?) -> HandleNumber {
    HandleNumber(rawValue: info?.pointee.fh ?? 0)
}

func openFlags(_ info: UnsafeMutablePointer<fuse_file_info>?) -> OpenFlags {
    OpenFlags(rawValue: info?.pointee.flags ?? 0)
}

private func addInodeOperations(_ table: inout fuse_lowlevel_ops) {
    table.lookup = { request, parent, bytes in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            .entry(
                try server.filesystem.lookup(
                    request, in: InodeNumber(rawValue: parent), name: copyName(bytes)))
        }
    }
    table.forget = { request, inode, count in
        let request = present(request)
        Server.of(request).filesystem.forget(InodeNumber(rawValue: inode), count: count)
        fuse_reply_none(request)
    }
    table.forget_multi = { request, count, all in
        let request = present(request)
        let filesystem = Server.of(request).filesystem
        for one in UnsafeBufferPointer(start: all, count: count) {
            filesystem.forget(InodeNumber(rawValue: one.ino), count: one.nlookup)
        }
        fuse_reply_none(request)
    }
    table.getattr = { request, inode, info in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            let (attributes, timeout) = try server.filesystem.attributes(
                request, of: InodeNumber(rawValue: inode), handle: info.map { openHandle($0) })
            return .attributes(attributes, timeout: timeout)
        }
    }
    table.setattr = { request, inode, status, set, info in
        let request = present(request)
        let server = Server.of(request)
        let changes = status.map { AttributeChanges($0.pointee, set: set) } ?? AttributeChanges()
        let handle = info.map { openHandle($0) }
        server.answerLater(request) { request throws(Errno) in
            let (attributes, timeout) = try server.filesystem.setAttributes(
                request, of: InodeNumber(rawValue: inode), handle: handle, changes)
            return .attributes(attributes, timeout: timeout)
        }
    }
    table.readlink = { request, inode in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            .target(try server.filesystem.readSymbolicLink(request, InodeNumber(rawValue: inode)))
        }
    }
    table.statfs = { request, inode in
        let request = present(request)
        let server = Server.of(request)
        server.answer(request) { request throws(Errno) in
            .statistics(try server.filesystem.statistics(request, InodeNumber(rawValue: inode)))
        }
    }
}

private func addNameOperations(_ table: inout fuse_lowlevel_ops) {
    table.mkdir = { request, parent, bytes, mode in
        let permissions = UInt16(mode & 0o7777)
        answerLater(request, bytes) {
            (server: Server, request: Request, name: Name) throws(Errno) -> Answer in
            let entry = try server.filesystem.makeDirectory(
                request, in: InodeNumber(rawValue: parent), name: name, permissions: permissions)
            return .entry(entry)
        }
    }
    table.mknod = { request, parent, bytes, mode, _ in
        answerLater(request, bytes) { server, request, name throws(Errno) in
            guard mode & S_IFMT == S_IFREG || mode & S_IFMT == 0 else { throw .notPermitted }
            return .entry(
                try server.filesystem.makeNode(
                    request, in: InodeNumber(rawValue: parent), name: name,
                    permissions: UInt16(mode & 0o7777)))
        }
    }
    table.symlink = { request, target, parent, bytes in
        let target = copy(target)
        answerLater(request, bytes) { server, request, name throws(Errno) in
            return .entry(
                try server.filesystem.makeSymbolicLink(
                    request, in: InodeNumber(rawValue: parent), name: name, target: target))
        }
    }
    table.link = { request, inode, parent, bytes in
        answerLater(request, bytes) { server, request, name throws(Errno) in
            return .entry(
                try server.filesystem.link(
                    request, InodeNumber(rawValue: inode), to: InodeNumber(rawValue: parent), name: name))
        }
    }
    table.unlink = { request, parent, bytes in
        answerLater(request, bytes) { server, request, name throws(Errno) in
            try server.filesystem.unlink(request, in: InodeNumber(rawValue: parent), name: name)
            return .done
        }
    }
    table.rmdir = { request, parent, bytes in
        answerLater(request, bytes) { server, request, name throws(Errno) in
            try server.filesystem.removeDirectory(request, in: InodeNumber(rawValue: parent), name: name)
            return .done
        }
    }
    table.rename = { request, parent, oldBytes, newParent, newBytes, flags in
        let newName = Result { () throws(Errno) in try copyName(newBytes) }
        answerLater(request, oldBytes) { server, request, oldName throws(Errno) in
            try server.filesystem.rename(
                request, from: InodeNumber(rawValue: parent), oldName, to: InodeNumber(rawValue: newParent),
                newName.get(), flags: RenameFlags(rawValue: flags))
            return .done
        }
    }
}

/// Copies the name and goes on on a worker.
func answerLater(
    _ request: fuse_req_t?, _ bytes: UnsafePointer<CChar>?,
    _ operation: @escaping @Sendable (Server, Request, Name) throws(Errno) -> Answer
) {
    let request = present(request)
    let server = Server.of(request)
    let name = Result { () throws(Errno) in try copyName(bytes) }
    server.answerLater(request) { request throws(Errno) in try operation(server, request, name.get()) }
}
