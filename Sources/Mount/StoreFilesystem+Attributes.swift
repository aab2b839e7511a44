public import Fuse
import Glibc
import Stores
import Synchronization
import System
public import SystemPackage

extension StoreFilesystem {
    /// stat(2): decrypts nothing and prompts for nothing.
    public func attributes(
        _ request: Request, of inode: InodeNumber, handle: HandleNumber?
    ) throws(Errno) -> (Attributes, timeout: Double) {
        (try attributes(of: try tree.node(inode)), timeout)
    }

    /// What stat(2) tells of a node. `known` is what was just seen of it on disk. Decrypts nothing.
    func attributes(of node: Node, known: FileStatus? = nil) throws(Errno) -> Attributes {
        switch node.kind {
        case .root:
            return facts(
                node, permissions: 0o700, links: 2 + UInt64(stores.withLock { $0.count }), size: 0, times: nil
            )
        case .directory:
            if let store = node.store, !store.store.root.isOpen, tree.backingPath(of: node)?.isEmpty == true {
                // A store that nobody has used yet: listing the mount point opens none.
                return unseenAttributes(of: node)
            }
            let status = try self.status(of: node, known: known)
            return facts(
                node, permissions: 0o700, links: visibleLinks(of: node, status), size: status.identity.size,
                times: status)
        case .plain:
            let status = try self.status(of: node, known: known)
            return facts(node, permissions: 0o400, links: 1, size: status.identity.size, times: status)
        case .symbolicLink:
            let status = try self.status(of: node, known: known)
            let target = try? visibleTarget(of: node)
            return facts(
                node, permissions: 0o777, links: 1, size: Int64(target?.count ?? 0), times: status)
        case .memoryLink(let target):
            return facts(node, permissions: 0o777, links: 1, size: Int64(target.count), times: nil)
        case .secret:
            return try secretAttributes(of: node, known: known)
        }
    }

    /// What stat(2) tells of a store's top without a look at the disk. One link stands for "not known".
    func unseenAttributes(of top: Node) -> Attributes {
        facts(top, permissions: 0o700, links: 1, size: 0, times: nil)
    }

    private func secretAttributes(of node: Node, known: FileStatus?) throws(Errno) -> Attributes {
        let links: UInt64 = tree.backingPath(of: node) == nil ? 0 : 1
        let loaded = node.secret?.state.withLock { state -> Attributes? in
            guard state.isLoaded else { return nil }
            var facts = facts(
                node, permissions: 0o600, links: links, size: Int64(state.count), times: state.base)
            if let modified = state.modified {
                facts.modificationTime = Timestamp(modified)
                facts.changeTime = Timestamp(modified)
                if state.base == nil { facts.accessTime = Timestamp(modified) }
            }
            if let accessed = state.accessed { facts.accessTime = Timestamp(accessed) }
            return facts
        }
        if let loaded { return loaded }
        let status = try self.status(of: node, known: known)
        guard let store = node.store?.store, let path = tree.backingPath(of: node) else {
            throw .staleNFSFileHandle
        }
        let size = store.knownSize(of: path, status: status).bytes
        return facts(node, permissions: 0o600, links: links, size: size, times: status)
    }

    private func status(of node: Node, known: FileStatus?) throws(Errno) -> FileStatus {
        if let known { return known }
        return try diskStatus(of: node)
    }

    /// lstat(2) of the file on disk behind a node. Takes the namespace lock: a path may lead to another file at any time.
    func diskStatus(of node: Node) throws(Errno) -> FileStatus {
        guard let store = node.store else { throw .staleNFSFileHandle }
        return try store.namespace.withLock { _ throws(Errno) in
            guard let path = self.tree.backingPath(of: node) else { throw .staleNFSFileHandle }
            return try store.store.root.status(of: path)
        }
    }

    /// A folder's links tell how many folders it holds; `.git` is not shown.
    private func visibleLinks(of node: Node, _ status: FileStatus) -> UInt64 {
        guard status.linkCount > 2, let store = node.store, let path = tree.backingPath(of: node) else {
            return status.linkCount
        }
        let hidden = try? store.store.root.statusIfPresent(of: path.appending(".git"))
        return hidden?.kind == .directory ? status.linkCount - 1 : status.linkCount
    }

    private func facts(
        _ node: Node, permissions: UInt16, links: UInt64, size: Int64, times: FileStatus?
    ) -> Attributes {
        let modified = times?.identity.modified ?? started
        // What programs would be refused they may know before they try.
        let isReadOnly =
            node.fileKind != .symbolicLink && node.store?.isReadOnly.load(ordering: .relaxed) == true
        return Attributes(
            inode: node.inode, kind: node.fileKind,
            permissions: isReadOnly ? permissions & ~0o222 : permissions, linkCount: links,
            userID: userID,
            groupID: groupID, size: size, accessTime: Timestamp(times?.accessed ?? modified),
            modificationTime: Timestamp(modified), changeTime: Timestamp(times?.identity.changed ?? modified))
    }

    /// truncate(2), utimensat(2), and changes of owner and mode that change nothing of substance.
    public func setAttributes(
        _ request: Request, of inode: InodeNumber, handle: HandleNumber?, _ changes: AttributeChanges
    ) throws(Errno) -> (Attributes, timeout: Double) {
        let node = try tree.node(inode)
        try node.store?.checkWritable()
        try checkOwnership(node, changes)
        if let size = changes.size { try resize(node, to: size, handle: handle, request) }
        if changes.accessTime != nil || changes.modificationTime != nil { try setTimes(node, changes) }
        return (try attributes(of: node), timeout)
    }

    /// Owner and mode are fixed: what asks for no other owner and leaves the owner's own access alone succeeds and
    /// changes nothing, as programs that copy modes expect; anything else would be a promise we don't keep.
    private func checkOwnership(_ node: Node, _ changes: AttributeChanges) throws(Errno) {
        if let user = changes.userID, user != userID { throw .notPermitted }
        if let group = changes.groupID, group != groupID { throw .notPermitted }
        if let permissions = changes.permissions, permissions & 0o7000 != 0 { throw .notPermitted }
    }

    private func setTimes(_ node: Node, _ changes: AttributeChanges) throws(Errno) {
        let accessed = changes.accessTime.map(FileTime.init)
        let modified = changes.modificationTime.map(FileTime.init)
        if let file = node.secret {
            let isKept = file.state.withLock { state in
                guard state.isDirty || state.isScratch else { return false }
                state.setTimes(accessed: accessed, modified: modified)
                return true
            }
            if isKept { return }
        }
        guard let store = node.store else { return }
        try store.namespace.withLock { _ throws(Errno) in
            guard let path = self.tree.backingPath(of: node) else { return }
            let earlier = try store.store.root.status(of: path)
            try store.store.root.setTimes(of: path, accessed: accessed, modified: modified)
            let status = try store.store.root.status(of: path)
            if node.kind == .secret { store.store.keepSize(of: earlier, as: status) }
            node.secret?.state.withLock { state in
                if state.base?.identity.inode == status.identity.inode { state.base = status }
            }
        }
    }

    /// statvfs(2) of the file system that holds the store.
    public func statistics(_ request: Request, _ inode: InodeNumber) throws(Errno) -> FileSystemStatistics {
        let node = try tree.node(inode)
        guard let store = node.store ?? stores.withLock({ $0.first?.store }) else {
            return FileSystemStatistics(maximumNameLength: UInt64(251))
        }
        let facts = try store.store.root.fileSystemStatistics()
        return FileSystemStatistics(
            blockSize: UInt64(facts.f_bsize), fragmentSize: UInt64(facts.f_frsize),
            blocks: UInt64(facts.f_blocks),
            freeBlocks: UInt64(facts.f_bfree), availableBlocks: UInt64(facts.f_bavail),
            files: UInt64(facts.f_files),
            freeFiles: UInt64(facts.f_ffree), availableFiles: UInt64(facts.f_favail),
            // A secret's name is four bytes longer on disk. A file system may leave the length out.
            maximumNameLength: UInt64(facts.f_namemax > 4 ? facts.f_namemax - 4 : facts.f_namemax))
    }
}

extension Timestamp {
    init(_ time: FileTime) {
        self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
    }
}

extension FileTime {
    init(_ change: AttributeChanges.TimeChange) {
        switch change {
        case .now: self = .now
        case .at(let time): self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
        }
    }
}
