import Fuse
import Glibc
import SystemPackage

@testable import Fuse
@testable import Mount

/// What files hold.
extension MountModel {
    func open(scratchOnly: Bool = false) throws {
        guard handles.count < 24 else { return try close() }
        let folder = anyFolder()
        let name = scratchOnly ? one(of: Self.scratchNames) : anyName()
        let total = Self.flags.reduce(0) { $0 + $1.1 }
        var choice = random.next() % total
        let access =
            Self.flags.first { flags in
                defer { choice = choice &- flags.1 }
                return choice < flags.1
            }?.0 ?? O_RDWR
        let isNew = below(3) > 0
        let isExclusive = isNew && below(4) == 0
        let known = folder.children[name]
        let isScratch = Self.scratchNames.contains(name)
        let what = "open \(path(folder, name)) \(access) \(isNew) \(isExclusive)"
        let expected: Errno? =
            if let known {
                isExclusive
                    ? .fileExists
                    : known.isFolder ? .isDirectory : known.isLink ? .tooManySymbolicLinkLevels : nil
            } else if !isNew {
                .noSuchFileOrDirectory
            } else if !isScratch,
                folder.hasOnDisk(name + ".gpg", exceptFor: name, countsParked: false)
            {
                .fileExists
            } else {
                nil
            }
        var file: TestFile?
        let isOpen = try compare(what, expected) { () throws(Errno) in
            file = try openNow(folder, name, access | (isNew ? O_CREAT : 0) | (isExclusive ? O_EXCL : 0))
        }
        guard isOpen, let file else { return }
        let node = known ?? ModelNode(isFolder: false)
        if known == nil {
            node.isScratch = isScratch
            node.edited()
            folder.put(node, name)
            // Nobody will flush what is opened for reading.
            if access & O_ACCMODE == O_RDONLY { saved(node) }
        } else if access & O_TRUNC != 0 {
            node.bytes = []
            node.edited()
        }
        node.handles += 1
        handles.append(
            Handle(
                node: node, file: file, isWritable: access & O_ACCMODE != O_RDONLY,
                appends: access & O_APPEND != 0))
        try same("fstat after \(what)", Int64(node.bytes.count)) { () throws(Errno) in
            try file.attributes.size
        }
    }

    private func openNow(_ folder: ModelNode, _ name: String, _ flags: Int32) throws(Errno) -> TestFile {
        let openFlags = OpenFlags(rawValue: flags & ~O_CREAT)
        let component = Name(name)!
        do throws(Errno) {
            let entry = try filesystem.lookup(in: folder.inode, name: component)
            do throws(Errno) {
                if flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL { throw .fileExists }
                let opened = try mount.value(
                    try filesystem.open(entry.inode, flags: openFlags, for: mount.caller))
                return TestFile(mount: mount, inode: entry.inode, handle: opened.handle)
            } catch {
                mount.forget(entry)
                throw error
            }
        } catch .noSuchFileOrDirectory where flags & O_CREAT != 0 {
            let (entry, opened) = try mount.value(
                try filesystem.create(
                    in: folder.inode, name: component, permissions: 0o600, flags: openFlags, for: mount.caller
                ))
            return TestFile(mount: mount, inode: entry.inode, handle: opened.handle)
        }
    }

    /// A save of a node has succeeded.
    func saved(_ node: ModelNode) {
        guard !node.isScratch, let folder = node.parent, node.isEdited else { return }
        node.isEdited = false
        node.isOnDisk = true
        folder.parked.remove(node.diskName)
    }

    func close(scratchOnly: Bool = false) throws {
        let indices = handles.indices.filter { !scratchOnly || handles[$0].node.isScratch }
        guard !indices.isEmpty else { return }
        let handle = handles.remove(at: one(of: indices))
        try compare("close \(handle.node.path)", nil) { () throws(Errno) in try handle.file.close() }
        handle.node.handles -= 1
        if handle.isWritable { saved(handle.node) }
    }

    func synchronize() throws {
        guard let handle = anyHandle() else { return }
        try compare("fsync \(handle.node.path)", nil) { () throws(Errno) in try handle.file.synchronize() }
        saved(handle.node)
    }

    func read() throws {
        guard let handle = anyHandle() else { return try stat() }
        let count = one(of: [1, 10, 500, 70_000])
        let offset = below(2) == 0 ? 0 : below(20_000)
        let end = min(offset + count, handle.node.bytes.count)
        let expected = offset < end ? handle.node.bytes[offset..<end] : []
        try same("read \(handle.node.path) \(offset) \(count)", true) { () throws(Errno) in
            var isSame = false
            try filesystem.read(
                handle.file.inode, handle: handle.file.handle, offset: Int64(offset), count: count
            ) { bytes in
                isSame =
                    bytes.count == expected.count
                    && (bytes.isEmpty
                        || expected.withUnsafeBytes {
                            memcmp($0.baseAddress!, bytes.baseAddress!, bytes.count) == 0
                        })
            }
            return isSame
        }
    }

    func write() throws {
        guard let handle = anyHandle() else { return try look() }
        let bytes = anyBytes()
        let node = handle.node
        let offset = below(2) == 0 ? below(node.bytes.count + 1) : below(20_000)
        let isDone = try compare(
            "write \(node.path) \(offset) \(bytes.count)", handle.isWritable ? nil : .badFileDescriptor
        ) { () throws(Errno) in try handle.file.write(bytes, at: Int64(offset)) }
        guard isDone else { return }
        node.edited()
        let start = handle.appends ? node.bytes.count : offset
        // The kernel sends no write of nothing; here it changes nothing but the version.
        guard !bytes.isEmpty, start + bytes.count <= 200_000 else {
            return bytes.isEmpty ? () : put(bytes, at: start, in: node)
        }
        put(bytes, at: start, in: node)
        // So that what appends does not grow for ever.
        if node.bytes.count > 60_000 { try setSize(handle, 100) }
    }

    private func put(_ bytes: [UInt8], at start: Int, in node: ModelNode) {
        if start > node.bytes.count { node.bytes += [UInt8](repeating: 0, count: start - node.bytes.count) }
        let end = start + bytes.count
        if end > node.bytes.count { node.bytes += [UInt8](repeating: 0, count: end - node.bytes.count) }
        node.bytes.withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[start..<end]).copyMemory(from: $0)
            }
        }
    }

    func resize() throws {
        guard let handle = anyHandle(), handle.isWritable else { return }
        try setSize(handle, one(of: [0, 1, 100, 4096, 20_000]))
    }

    private func setSize(_ handle: Handle, _ size: Int) throws {
        try compare("ftruncate \(handle.node.path) \(size)", nil) { () throws(Errno) in
            try handle.file.truncate(to: Int64(size))
        }
        resize(handle.node, to: size)
    }

    private func resize(_ node: ModelNode, to size: Int) {
        if size == 0 || size != node.bytes.count { node.edited() }
        if size < node.bytes.count {
            node.bytes.removeLast(node.bytes.count - size)
        } else {
            node.bytes += [UInt8](repeating: 0, count: size - node.bytes.count)
        }
    }

    func allocate() throws {
        guard let handle = anyHandle(), handle.isWritable else { return }
        let (offset, length) = (below(10_000), 1 + below(10_000))
        let mode = one(of: [0, 1, 3, 16, 17]) as Int32
        try compare("fallocate \(handle.node.path) \(mode) \(offset) \(length)", nil) { () throws(Errno) in
            try handle.file.allocate(mode, Int64(offset), Int64(length))
        }
        let node = handle.node
        if mode & 1 == 0, offset + length > node.bytes.count { resize(node, to: offset + length) }
        let end = min(offset + length, node.bytes.count)
        if mode & 18 != 0, offset < end {
            node.edited()
            node.bytes.withUnsafeMutableBytes { _ = memset($0.baseAddress! + offset, 0, end - offset) }
        }
    }

    func truncate() throws {
        let folder = anyFolder()
        let name = anyName()
        let size = one(of: [0, 1, 4096])
        let node = folder.children[name]
        // The kernel follows it.
        if node?.isLink == true { return }
        let expected: Errno? = node.map { $0.isFolder ? .isDirectory : nil } ?? .noSuchFileOrDirectory
        let isDone = try compare("truncate \(path(folder, name)) \(size)", expected) { () throws(Errno) in
            try at(folder, name) { inode throws(Errno) in
                var changes = AttributeChanges()
                changes.size = Int64(size)
                _ = try filesystem.setAttributes(of: inode, handle: nil, changes, for: mount.caller)
            }
        }
        guard isDone, let node else { return }
        resize(node, to: size)
        saved(node)
    }

    /// lseek(2) for data or for a hole.
    func seek() throws {
        guard let handle = anyHandle() else { return }
        let size = Int64(handle.node.bytes.count)
        let offset = Int64(below(Int(size) + 2)) - 1
        let whence: Int32 = one(of: [3, 4])
        try compare("lseek \(handle.node.path) \(offset)", 0..<size ~= offset ? nil : .noSuchAddressOrDevice)
        {
            () throws(Errno) in
            let found = try filesystem.seek(
                handle.file.inode, handle: handle.file.handle, offset: offset, whence: whence)
            if found != (whence == 3 ? offset : size) { throw .invalidArgument }
        }
    }
}
