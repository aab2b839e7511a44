import Dispatch
public import Fuse
import Glibc
import Stores
import Synchronization
public import SystemPackage

extension StoreFilesystem {
    public func open(_ request: Request, _ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened {
        let node = try tree.node(inode)
        switch node.kind {
        case .root, .directory: throw .isDirectory
        case .symbolicLink: throw .tooManySymbolicLinkLevels
        case .plain: return try openPlain(node, flags)
        case .secret(let file):
            file.state.withLock { $0.handles += 1 }
            do {
                if flags.isWritable && flags.truncates {
                    try truncateForOpen(node, file)
                } else {
                    try load(node, file, request)
                }
            } catch {
                closeHandle(node, file)
                throw error
            }
            return opened(flags)
        }
    }

    private func opened(_ flags: OpenFlags) -> Opened {
        let handle = handles.add(
            .secret(isWritable: flags.isWritable, isReadable: flags.isReadable, appends: flags.appends))
        return Opened(handle: handle, noFlush: !flags.isWritable)
    }

    private func openPlain(_ node: Node, _ flags: OpenFlags) throws(Errno) -> Opened {
        guard !flags.isWritable else { throw .permissionDenied }
        guard let store = node.store, let path = tree.backingPath(of: node) else { throw .staleNFSFileHandle }
        let bytes = try store.store.read(path, limit: secretLimit)
        return Opened(handle: handles.add(.plain(PlainContent(bytes))), noFlush: true)
    }

    private func truncateForOpen(_ node: Node, _ file: SecretFile) throws(Errno) {
        let disk = try? diskStatus(of: node)
        file.state.withLock { state in
            if !state.isLoaded { state.base = disk }
            state.truncate(at: .now)
        }
        markDirty(node)
    }

    public func create(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags
    ) throws(Errno) -> (Entry, Opened) {
        let (folderNode, store, path) = try folder(parent)
        enum Outcome {
            case existing(Node)
            case made(Node)
        }
        let outcome = try store.namespace.withLock { _ throws(Errno) -> Outcome in
            do throws(Errno) {
                let (node, _) = try self.find(name, in: folderNode, at: path, of: store)
                return .existing(node)
            } catch .noSuchFileOrDirectory {
                let backing = try self.newBackingName(name, in: path, of: store)
                let file = SecretFile(newAt: .now)
                file.state.withLock { $0.handles = 1 }
                return .made(self.tree.insert(.secret(file), name: name, backing: backing, in: folderNode))
            }
        }
        switch outcome {
        case .made(let node):
            markDirty(node)
            return (try entry(node), opened(flags))
        case .existing(let node):
            // Somebody made it between the kernel's look-up and now.
            do throws(Errno) {
                guard !flags.isExclusive else { throw .fileExists }
                return (try entry(node), try open(request, node.inode, flags: flags))
            } catch {
                tree.forget(node.inode, count: 1)
                throw error
            }
        }
    }

    func entry(_ node: Node) throws(Errno) -> Entry {
        Entry(
            inode: node.inode, attributes: try attributes(of: node), attributeTimeout: timeout,
            entryTimeout: timeout)
    }

    /// The name on disk for a secret that is to be made.
    func newBackingName(_ name: Name, in directory: FilePath, of store: MountedStore) throws(Errno) -> Name {
        guard !VisibleName.isHidden(name), name.string != ".gpg-id", name.string != ".gpg-id.sig" else {
            throw .notPermitted
        }
        let backing = VisibleName.backingName(forNew: name)
        guard backing.byteCount <= 255 else { throw .fileNameTooLong }
        // `name` itself is on disk but shown under another name: what is made now would be, too.
        guard try store.store.root.statusIfPresent(of: directory.appending(name)) == nil else { throw .fileExists }
        return backing
    }

    public func read(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        switch handles[handle] {
        case .secret:
            guard let file = try tree.node(inode).secret else { throw .badFileDescriptor }
            // Pages of a file that is mapped are read for writers, too: the kernel has checked the mode.
            file.state.withLock { $0.read(at: Int(clamping: offset), count: count, reply) }
        case .plain(let content):
            let start = min(max(Int(clamping: offset), 0), content.bytes.count)
            let end = min(start + count, content.bytes.count)
            content.bytes.withUnsafeBytes { reply(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        case .directory: throw .isDirectory
        case nil: throw .badFileDescriptor
        }
    }

    public func write(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        bytes: UnsafeRawBufferPointer, isFromPageCache: Bool
    ) throws(Errno) -> Int {
        guard case .secret(true, _, let appends) = handles[handle] else { throw .badFileDescriptor }
        let node = try tree.node(inode)
        guard let file = node.secret else { throw .badFileDescriptor }
        let limit = secretLimit
        try file.state.withLock { (state) throws(Errno) in
            let start = appends && !isFromPageCache ? state.count : Int(clamping: offset)
            guard start >= 0 else { throw .invalidArgument }
            guard start <= limit, bytes.count <= limit - start else { throw .fileTooLarge }
            try state.write(bytes, at: start, time: .now)
        }
        markDirty(node)
        return bytes.count
    }

    public func flush(_ request: Request, _ inode: InodeNumber, handle: HandleNumber) throws(Errno) {
        guard case .secret(true, _, _) = handles[handle] else { return }
        let node = try tree.node(inode)
        guard let file = node.secret else { return }
        // A shell closes a copy of the descriptor before it writes: nothing is to be saved yet.
        guard file.state.withLock({ $0.isDirty && !$0.isOnlyTruncated }) else { return }
        try save(node, file)
    }

    public func synchronize(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {
        let node = try tree.node(inode)
        guard let file = node.secret else { return }
        try save(node, file)
    }

    public func release(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags) {
        let closed = handles[handle]
        handles[handle] = nil
        guard case .secret(let isWritable, _, _) = closed, let node = try? tree.node(inode),
            let file = node.secret
        else { return }
        // What was not saved by a FLUSH: a file that was only truncated, or pages of a mapping. Nobody can be told of
        // a failure any more; it is kept, listed and tried again.
        if isWritable { try? save(node, file) }
        closeHandle(node, file)
    }

    /// One handle less; after the last one a saved content is forgotten, here and in the kernel.
    private func closeHandle(_ node: Node, _ file: SecretFile) {
        let isForgotten = file.state.withLock { state in
            state.handles -= 1
            guard state.handles == 0, !state.isDirty, state.isLoaded else { return false }
            state.drop()
            return true
        }
        if isForgotten { forgetPages(of: node) }
    }

    /// Drops the kernel's pages of a plaintext. From another thread than the one that serves a request.
    private func forgetPages(of node: Node) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        let inode = node.inode
        pageForgetting.async { notifier.invalidateInode(inode, offset: 0, length: 0) }
    }

    /// truncate(2), ftruncate(2).
    func resize(_ node: Node, to size: Int64, handle: HandleNumber?, _ request: Request) throws(Errno) {
        guard let file = node.secret else {
            throw node.fileKind == .directory ? .isDirectory : .permissionDenied
        }
        guard size >= 0 else { throw .invalidArgument }
        guard size <= Int64(secretLimit) else { throw .fileTooLarge }
        let hasHandle = handle != nil
        if !hasHandle { file.state.withLock { $0.handles += 1 } }
        defer { if !hasHandle { closeHandle(node, file) } }
        if size == 0 {
            try truncateForOpen(node, file)
        } else {
            try load(node, file, request)
            try file.state.withLock { (state) throws(Errno) in
                if state.count != Int(size) { try state.resize(to: Int(size), at: .now) }
            }
            markDirty(node)
        }
        // Nobody will close a file that truncate(2) named by its path.
        if !hasHandle { try save(node, file) }
    }

    public func allocate(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64, length: Int64
    ) throws(Errno) {
        guard case .secret(true, _, _) = handles[handle] else { throw .badFileDescriptor }
        // Only "make it at least this long": memory has no blocks to keep or to punch.
        guard mode == 0 || mode == 1 else { throw .notSupportedOnSocket }
        let node = try tree.node(inode)
        guard let file = node.secret else { throw .badFileDescriptor }
        let (end, overflow) = offset.addingReportingOverflow(length)
        guard !overflow, end <= Int64(secretLimit) else { throw .fileTooLarge }
        guard mode == 0 else { return }
        let hasGrown = try file.state.withLock { (state) throws(Errno) in
            guard state.count < Int(end) else { return false }
            try state.resize(to: Int(end), at: .now)
            return true
        }
        if hasGrown { markDirty(node) }
    }

    public func seek(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64 {
        let size: Int64
        switch handles[handle] {
        case .secret:
            guard let file = try tree.node(inode).secret else { throw .badFileDescriptor }
            size = Int64(file.state.withLock { $0.count })
        case .plain(let content): size = Int64(content.bytes.count)
        case .directory, nil: throw .badFileDescriptor
        }
        // SEEK_DATA 3, SEEK_HOLE 4: all is data, the one hole is at the end.
        guard offset >= 0, offset < size else { throw .noSuchAddressOrDevice }
        switch whence {
        case 3: return offset
        case 4: return size
        default: throw .invalidArgument
        }
    }
}
