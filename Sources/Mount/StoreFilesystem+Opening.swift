import Dispatch
public import Fuse
import Glibc
import Stores
import Synchronization
import System
public import SystemPackage

extension StoreFilesystem {
    /// Opens a secret: decrypts it, unless it is truncated (waits for a passphrase, EINTR ends the wait); a plain file is
    /// read-only (EACCES).
    public func open(
        _ request: Request, _ inode: InodeNumber, flags: OpenFlags
    ) throws(Errno) -> Reply<Opened> {
        let node = try tree.node(inode)
        switch node.kind {
        case .root, .directory: throw .isDirectory
        case .symbolicLink, .memoryLink: throw .tooManySymbolicLinkLevels
        case .plain: return .now(try openPlain(node, flags))
        case .secret:
            if flags.isWritable || flags.truncates { try node.store?.checkWritable() }
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            guard flags.isWritable, flags.truncates else {
                return .later(openLoaded(node, file, flags, request))
            }
            do throws(Errno) {
                try truncate(node, file)
            } catch {
                endHandle(node, file)
                throw error
            }
            return .now(opened(node, file, flags))
        }
    }

    private func openLoaded(
        _ node: Node, _ file: SecretFile, _ flags: OpenFlags, _ request: Request
    ) -> PendingReply<Opened> {
        let reply = PendingReply<Opened>()
        load(node, file, request) { result in
            if case .failure = result { self.endHandle(node, file) }
            reply.give(result.map { self.opened(node, file, flags) })
        }
        return reply
    }

    /// The content of a secret with one more handle; nil when the node is none.
    func beginHandle(_ node: Node) -> SecretFile? {
        let file = node.beginUse()
        file?.state.withLock { $0.handles += 1 }
        return file
    }

    /// One handle less; after the last one a saved content is forgotten, here and in the kernel.
    func endHandle(_ node: Node, _ file: SecretFile) {
        let isForgotten = file.state.withLock { state in
            state.handles -= 1
            guard state.handles == 0, !state.isDirty, !state.isScratch, state.isLoaded else { return false }
            state.drop()
            return true
        }
        if isForgotten { forgetPages(of: node) }
        node.endUse()
    }

    /// Drops the kernel's pages of a plaintext. From another thread than the one that serves a request.
    private func forgetPages(of node: Node) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        let inode = node.inode
        background.async { notifier.invalidateInode(inode, offset: 0, length: 0) }
    }

    private func opened(_ node: Node, _ file: SecretFile, _ flags: OpenFlags) -> Opened {
        let handle = handles.add(
            .secret(
                Handles.OpenSecret(
                    node: node, file: file, isWritable: flags.isWritable, appends: flags.appends)))
        return Opened(handle: handle, noFlush: !flags.isWritable)
    }

    private func openPlain(_ node: Node, _ flags: OpenFlags) throws(Errno) -> Opened {
        guard !flags.isWritable else { throw .permissionDenied }
        guard let store = node.store, let path = tree.backingPath(of: node) else { throw .staleNFSFileHandle }
        let bytes = try store.store.read(path, limit: options.secretLimit)
        return Opened(handle: handles.add(.plain(PlainContent(bytes))), noFlush: true)
    }

    /// Makes an open secret empty without looking at what it held.
    func truncate(_ node: Node, _ file: SecretFile) throws(Errno) {
        let isScratch = file.state.withLock { $0.isScratch }
        let disk = isScratch ? nil : try? diskStatus(of: node)
        file.state.withLock { state in
            if !state.isLoaded { state.base = disk }
            state.truncate(at: .now)
        }
        if !isScratch { markDirty(node) }
    }

    /// Makes a secret or scratch file; it reaches the disk when it is flushed, synchronized or closed.
    public func create(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags
    ) throws(Errno) -> Reply<(Entry, Opened)> {
        let (folder, store) = try folder(parent)
        let (node, isNew) = try store.namespace.withLock { _ throws(Errno) -> (Node, Bool) in
            let place = try self.place(of: folder)
            if let known = try self.findIfPresent(name, in: place, of: store) { return (known, false) }
            try store.checkWritable()
            do throws(Errno) {
                return (try self.make(name, in: place, of: store), true)
            } catch .fileExists {
                // Put there just now, by another program or with another folder that took the store's path.
                guard let known = try self.findIfPresent(name, in: place, of: store) else {
                    throw .fileExists
                }
                return (known, false)
            }
        }
        do throws(Errno) {
            guard isNew else {
                // Somebody made it between the kernel's look-up and now.
                guard !flags.isExclusive else { throw .fileExists }
                let entry = try entry(node)
                return try open(request, node.inode, flags: flags).map { opened in
                    if case .failure = opened { self.tree.forget(node.inode, count: 1) }
                    return opened.map { (entry, $0) }
                }
            }
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            do throws(Errno) {
                // Nothing will ever flush it: what flock(1) makes must be on disk when it is open.
                try keep(node, file, isComplete: !flags.isWritable)
                return .now((try entry(node), opened(node, file, flags)))
            } catch {
                endHandle(node, file)
                throw error
            }
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    /// mknod(2) of a regular file: nobody closes it, so it is saved right now, empty.
    public func makeNode(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry {
        let (folder, store) = try writableFolder(parent)
        let node = try store.namespace.withLock { _ throws(Errno) in
            let place = try self.place(of: folder)
            guard try self.isFree(name, in: place, of: store) else { throw .fileExists }
            return try self.make(name, in: place, of: store)
        }
        do throws(Errno) {
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            defer { endHandle(node, file) }
            try keep(node, file, isComplete: true)
            return try entry(node)
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    /// Takes care of a file that was just made: a scratch file stays in memory; any other is to be saved, and, when it
    /// is complete as it is, saved right now. One that cannot be saved is not there.
    private func keep(_ node: Node, _ file: SecretFile, isComplete: Bool) throws(Errno) {
        guard !file.state.withLock({ $0.isScratch }) else { return keepScratch(node) }
        markDirty(node)
        guard isComplete else { return }
        do throws(Errno) {
            try save(node, file)
        } catch {
            tree.detach(node)
            file.state.withLock { $0.abandonEdits() }
            unmarkIfSaved(node, file)
            throw error
        }
    }

    /// A new file, in memory so far. Under the namespace lock; counts a lookup.
    private func make(_ name: Name, in folder: FolderPlace, of store: MountedStore) throws(Errno) -> Node {
        let isScratch = scratchNames.match(name)
        let file = SecretFile(newAt: .now, isScratch: isScratch, scratchMemory: scratchMemory)
        guard !isScratch else {
            return tree.insert(.secret, name: name, backing: name, in: folder.node, file: file)
        }
        let backing = try newBackingName(name, in: folder.path, of: store)
        // What an editor has just renamed away is what this one replaces.
        let parked = store.parked.status(at: folder.path.appending(backing))
        file.state.withLock { $0.base = parked }
        return tree.insert(.secret, name: name, backing: backing, in: folder.node, file: file)
    }

    /// As `find`, but nil where there is nothing.
    func findIfPresent(
        _ name: Name, in folder: FolderPlace, of store: MountedStore
    ) throws(Errno) -> Node? {
        do throws(Errno) {
            return try find(name, in: folder, of: store).0
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    func entry(_ node: Node) throws(Errno) -> Entry {
        Entry(
            inode: node.inode, attributes: try attributes(of: node), attributeTimeout: timeout,
            entryTimeout: timeout)
    }
}
