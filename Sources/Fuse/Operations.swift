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
        guard let request else { return }
        let server = Server.of(request)
        let name = Result { () throws(Errno) in try copyName(bytes) }
        let parent = InodeNumber(rawValue: parent)
        server.look(request, at: parent) { caller throws(Errno) in
            let found = try server.filesystem.lookup(in: parent, name: name.get(), for: caller)
            return try found.map { $0.map { .entry($0) } }
        }
    }
    table.forget = { request, inode, count in
        guard let request else { return }
        Server.of(request).filesystem.forget(InodeNumber(rawValue: inode), count: count)
        fuse_reply_none(request)
    }
    table.forget_multi = { request, count, all in
        guard let request else { return }
        let filesystem = Server.of(request).filesystem
        for one in UnsafeBufferPointer(start: all, count: count) {
            filesystem.forget(InodeNumber(rawValue: one.ino), count: one.nlookup)
        }
        fuse_reply_none(request)
    }
    table.getattr = { request, inode, info in
        let handle = info.map { openHandle($0) }
        answerLook(request, at: inode) { filesystem, inode throws(Errno) in
            let (attributes, timeout) = try filesystem.attributes(of: inode, handle: handle)
            return .attributes(attributes, timeout: timeout)
        }
    }
    table.setattr = { request, inode, status, set, info in
        let changes = status.map { AttributeChanges($0.pointee, set: set) } ?? AttributeChanges()
        let handle = info.map { openHandle($0) }
        answerLater(request, at: inode) { filesystem, caller throws(Errno) in
            let (attributes, timeout) = try filesystem.setAttributes(
                of: InodeNumber(rawValue: inode), handle: handle, changes, for: caller)
            return .attributes(attributes, timeout: timeout)
        }
    }
    table.readlink = { request, inode in
        answerLook(request, at: inode) { filesystem, inode throws(Errno) in
            .target(try filesystem.readSymbolicLink(inode))
        }
    }
    table.statfs = { request, inode in
        // No look: whoever asks for the mount point waits for a disk, and nobody who lists that is to wait for him.
        answerLater(request, at: inode) { filesystem, _ throws(Errno) in
            .statistics(try filesystem.statistics(InodeNumber(rawValue: inode)))
        }
    }
}

private func addNameOperations(_ table: inout fuse_lowlevel_ops) {
    table.mkdir = { request, parent, bytes, mode in
        let permissions = UInt16(mode & 0o7777)
        answerLater(request, at: parent, bytes) { filesystem, name, _ throws(Errno) in
            .entry(
                try filesystem.makeDirectory(
                    in: InodeNumber(rawValue: parent), name: name, permissions: permissions))
        }
    }
    table.mknod = { request, parent, bytes, mode, _ in
        answerLater(request, at: parent, bytes) { filesystem, name, caller throws(Errno) in
            guard mode & S_IFMT == S_IFREG || mode & S_IFMT == 0 else { throw .notPermitted }
            return .entry(
                try filesystem.makeNode(
                    in: InodeNumber(rawValue: parent), name: name, permissions: UInt16(mode & 0o7777),
                    for: caller))
        }
    }
    table.symlink = { request, target, parent, bytes in
        let target = copy(target)
        answerLater(request, at: parent, bytes) { filesystem, name, caller throws(Errno) in
            .entry(
                try filesystem.makeSymbolicLink(
                    in: InodeNumber(rawValue: parent), name: name, target: target, for: caller))
        }
    }
    table.link = { request, inode, parent, bytes in
        answerLater(request, at: parent, bytes) { filesystem, name, _ throws(Errno) in
            .entry(
                try filesystem.link(
                    InodeNumber(rawValue: inode), to: InodeNumber(rawValue: parent), name: name))
        }
    }
    table.unlink = { request, parent, bytes in
        answerLater(request, at: parent, bytes) { filesystem, name, caller throws(Errno) in
            try filesystem.unlink(in: InodeNumber(rawValue: parent), name: name, for: caller)
            return .done
        }
    }
    table.rmdir = { request, parent, bytes in
        answerLater(request, at: parent, bytes) { filesystem, name, _ throws(Errno) in
            try filesystem.removeDirectory(in: InodeNumber(rawValue: parent), name: name)
            return .done
        }
    }
    table.rename = { request, parent, oldBytes, newParent, newBytes, flags in
        let names = Result { () throws(Errno) in (try copyName(oldBytes), try copyName(newBytes)) }
        answerLater(request, at: parent) { filesystem, caller throws(Errno) in
            let (oldName, newName) = try names.get()
            try filesystem.rename(
                from: InodeNumber(rawValue: parent), oldName, to: InodeNumber(rawValue: newParent),
                newName, flags: RenameFlags(rawValue: flags), for: caller)
            return .done
        }
    }
}
