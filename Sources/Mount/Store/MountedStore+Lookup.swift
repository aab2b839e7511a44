import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        try checkShown(folder)
        if name == Self.refusedTarget { throw .permissionDenied }
        let (node, status) = try inNamespace(of: folder) { place throws(Errno) in
            try find(name, in: place)
        }
        do {
            let timeout = node.fileKind == .regular ? MountState.lookedUpTimeout : 0
            return Entry(
                inode: node.inode, attributes: try attributes(of: node, known: status),
                attributeTimeout: timeout)
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    /// The node of a name, with a lookup counted. Under the store's namespace lock.
    func find(
        _ name: Name, in folder: FolderPlace
    ) throws(Errno) -> (Node, FileStatus?) {
        let parent = folder.node
        let known = tree.child(name, of: parent)
        guard let found = try resolve(name, in: folder.path) else {
            // As statvfs(3) says, for whatever is to be done with the name: a secret's takes `.gpg` on disk.
            guard let known else { throw name.byteCount > 251 ? .fileNameTooLong : .noSuchFileOrDirectory }
            // Not on disk: it is only in memory, or it was removed behind our back.
            guard known.isOnlyInMemory else {
                // What is not saved below a folder keeps its path, to be listed and to be saved there some day.
                if known.kind != .directory || !hasUnsavedBelow(known) && !tree.hasOpenFile(below: known) {
                    tree.detach(known)
                }
                throw .noSuchFileOrDirectory
            }
            tree.countLookup(of: known)
            return (known, nil)
        }
        if let known {
            if known.matches(found), backs(known, found.name, name), !hasOutdatedReaders(known, found.status)
            {
                tree.countLookup(of: known)
                return (known, found.status)
            }
            // A text that is being written below must not lose its path: it could be neither saved nor listed.
            if known.kind == .directory, tree.hasOpenFile(below: known) { throw .resourceBusy }
            giveWay(known, in: parent)
        }
        let node = tree.insert(kind(of: found), name: name, backing: found.name, in: parent)
        return (node, found.status)
    }

    /// Whether a secret anywhere below a folder is newer than the disk.
    private func hasUnsavedBelow(_ folder: Node) -> Bool {
        dirtyNodes.contains { tree.isBelow($0, folder) }
    }

    /// What a name stands for on disk, but for what is parked.
    func resolve(_ name: Name, in path: FilePath) throws(Errno) -> BackingEntry? {
        guard
            let found = try VisibleName.resolve(
                name, in: path, of: root, keeping: kept.include)
        else { return nil }
        if parked.isEmpty { return found }
        guard let status = parked.status(at: path.appending(found.name)) else { return found }
        if status.isSameContent(as: found.status) { return nil }
        // Somebody else has put a new secret there.
        parked.remove(path.appending(found.name))
        return found
    }

    private func kind(of found: BackingEntry) -> Node.Kind {
        switch found.kind {
        case .directory: .directory
        case .plain: .plain
        case .symbolicLink: .symbolicLink
        case .secret: .secret
        }
    }

    /// Whether programs have the file open in a version that somebody else has replaced since. They keep what they
    /// opened; who opens it now gets a node of its own.
    private func hasOutdatedReaders(_ node: Node, _ status: FileStatus) -> Bool {
        guard let file = node.secret else { return false }
        return file.state.withLock { state in
            guard state.handles > 0, state.isLoaded, !state.isDirty, let base = state.base else {
                return false
            }
            return !base.isSameContent(as: status)
        }
    }

    /// Whether a node is the file on disk that its visible name stands for: that may have become another one, as `x.gpg`
    /// is `x.gpg.gpg` or `x.gpg`, by what else is there.
    private func backs(_ node: Node, _ found: Name, _ visible: Name) -> Bool {
        let backing = tree.backingName(of: node)
        // What is not saved yet goes to where it was read, though somebody has removed that.
        return backing == found || backing == visible && node.isOnlyInMemory
    }

    /// Something else now lies on disk under a node's visible name. A file that is still there, and a secret that is not
    /// saved yet, moves to the name that it has on disk, so that nothing is lost; anything else loses its name.
    private func giveWay(_ node: Node, in parent: Node) {
        if let file = node.secret, file.state.withLock({ $0.isScratch }) { return dropScratch(node) }
        guard let backing = tree.backingName(of: node),
            node.isOnlyInMemory || backing != tree.visiblePath(of: node)?.lastComponent
        else {
            tree.detach(node)
            return
        }
        tree.move(node, to: parent, name: backing, backing: backing)
    }
}
