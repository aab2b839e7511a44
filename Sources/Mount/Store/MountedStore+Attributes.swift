import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// stat(2): decrypts nothing and prompts for nothing.
    func attributes(of node: Node) throws(Errno) -> Attributes {
        do throws(Errno) {
            return try attributes(of: node, known: nil)
        } catch .noSuchFileOrDirectory where node.fileKind == .regular {
            // Another file may have the name by now: the kernel looks it up then.
            throw .staleNFSFileHandle
        }
    }

    /// What stat(2) tells of a node. `known` is what was just seen of it on disk. Decrypts nothing.
    func attributes(of node: Node, known: FileStatus?) throws(Errno) -> Attributes {
        if case .memoryLink(let target) = node.kind {
            let links: UInt64 = tree.parent(of: node) == nil ? 0 : 1
            return mount.attributes(of: node, permissions: 0o777, links: links, size: Int64(target.count))
        }
        if node.kind == .directory, !root.isOpen, tree.backingPath(of: node)?.isEmpty == true {
            // A store that nobody has used yet: listing the mount point opens none.
            return attributesUnseen(of: node)
        }
        if node.kind == .secret, let loaded = loadedAttributes(of: node) { return loaded }
        let status = if let known { known } else { try diskStatus(of: node) }
        switch node.kind {
        case .root, .directory:
            return facts(
                node, permissions: 0o700, links: visibleLinks(of: node, status), size: status.identity.size,
                times: status)
        case .plain: return facts(node, permissions: 0o400, size: status.identity.size, times: status)
        case .symbolicLink, .memoryLink:
            let target = try? visibleTarget(of: node, seenAs: status)
            var facts = mount.attributes(
                of: node, permissions: 0o777, size: Int64(target?.shown.count ?? 0), times: status)
            if let target { facts.accessTime = target.accessed }
            return facts
        case .secret:
            // A listing asks for each of thousands, and a path takes longer to put together than all the rest.
            var size = store.learnedSize(of: status)
            if size == nil {
                guard let path = tree.backingPath(of: node) else { throw .staleNFSFileHandle }
                size = store.knownSize(of: path, status: status)
            }
            return facts(node, permissions: 0o600, size: size ?? 0, times: status)
        }
    }

    /// What stat(2) tells of the store's top without a look at the disk. One link stands for "not known".
    func attributesUnseen(of top: Node) -> Attributes {
        facts(top, permissions: 0o700, size: 0, times: nil)
    }

    /// Of a secret whose content is in memory.
    private func loadedAttributes(of node: Node) -> Attributes? {
        guard let file = node.secret, file.state.withLock({ $0.isLoaded && !$0.isIdle }) else { return nil }
        let links: UInt64 = tree.backingPath(of: node) == nil ? 0 : 1
        return file.state.withLock { state -> Attributes? in
            // What is only kept may have been replaced; what has no name any more, and nobody has open, is gone.
            guard state.isLoaded, !state.isIdle, links > 0 || state.handles > 0 else { return nil }
            var facts = facts(
                node, permissions: 0o600, links: links, size: Int64(state.count), times: state.base)
            if let modified = state.modified {
                facts.modificationTime = modified
                if state.base == nil { facts.accessTime = modified }
            }
            if let changed = state.changed { facts.changeTime = changed }
            if let accessed = state.accessed { facts.accessTime = accessed }
            return facts
        }
    }

    /// lstat(2) of the file on disk behind a node. Takes the namespace lock: a path may lead to another file at any time.
    func diskStatus(of node: Node) throws(Errno) -> FileStatus {
        try namespace.withLock { _ throws(Errno) in
            guard let path = tree.backingPath(of: node) else { throw .staleNFSFileHandle }
            return try root.status(of: path)
        }
    }

    /// A folder's links tell how many folders it holds; `.git` is not shown.
    private func visibleLinks(of node: Node, _ status: FileStatus) -> UInt64 {
        guard status.linkCount > 2, let path = tree.backingPath(of: node) else { return status.linkCount }
        let hidden = try? root.statusIfPresent(of: path.appending(".git"))
        return hidden?.kind == .directory ? status.linkCount - 1 : status.linkCount
    }

    /// With the permissions that a read-only store has: what programs would be refused they may know before they try.
    private func facts(
        _ node: Node, permissions: UInt16, links: UInt64 = 1, size: Int64, times: FileStatus?
    ) -> Attributes {
        let isReadOnly = isReadOnly.load(ordering: .relaxed)
        return mount.attributes(
            of: node, permissions: isReadOnly ? permissions & ~0o222 : permissions, links: links, size: size,
            times: times)
    }

    /// truncate(2), utimensat(2).
    func setAttributes(
        of node: Node, isOpen: Bool, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) {
        try checkWritable()
        try mount.checkOwnership(changes)
        // Who has it open for writing was judged then.
        if changes.size != nil, !isOpen, isRecipientFile(node), let folder = tree.parent(of: node) {
            try checkMayChange(Store.recipientFileName, in: folder, for: caller)
        }
        if let size = changes.size { try resize(node, to: size, isOpen: isOpen) }
        guard changes.accessTime != nil || changes.modificationTime != nil else { return }
        try setTimes(
            node, accessed: changes.accessTime.map(FileTime.init),
            modified: changes.modificationTime.map(FileTime.init))
    }

    private func setTimes(_ node: Node, accessed: FileTime?, modified: FileTime?) throws(Errno) {
        // An editor's lock lies on no disk and has no times of its own.
        if case .memoryLink = node.kind { return }
        if let file = node.secret {
            let isKept = file.state.withLock { state in
                guard state.isDirty || state.isScratch else { return false }
                state.setTimes(accessed: accessed, modified: modified)
                return true
            }
            if isKept { return }
        }
        try namespace.withLock { _ throws(Errno) in
            guard let path = tree.backingPath(of: node) else { return }
            let earlier = try root.status(of: path)
            // Reading a link for its size has changed the time that it has on disk.
            let link = node.kind == .symbolicLink ? try? seenLinks.look(at: path, earlier, in: root) : nil
            try root.setTimes(of: path, accessed: accessed ?? link?.accessed, modified: modified)
            let status = try root.status(of: path)
            if let link { seenLinks.remember(link.target, as: status) }
            if node.kind == .secret { store.keepSize(of: earlier, as: status) }
            node.secret?.state.withLock { state in
                if state.base?.identity.inode == status.identity.inode { state.base = status }
            }
        }
    }

    /// statvfs(2) of the file system that holds the store.
    func statistics() throws(Errno) -> FileSystemStatistics {
        let facts = try root.fileSystemStatistics()
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

extension FileTime {
    init(_ change: AttributeChanges.TimeChange) {
        switch change {
        case .now: self = .now
        case .at(let time): self = time
        }
    }
}
