import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        try checkShown(folder)
        if name == Self.refusedTarget { throw .permissionDenied }
        return try lookup(name, in: folder, nil)
    }

    /// The folder stays open for as long as the closure lives.
    func listedLookups(in folder: Node) -> (Name) -> Entry? {
        guard (try? checkShown(folder)) != nil, let path = tree.backingPath(of: folder),
            let opened = try? root.openFolder(path)
        else { return { _ in nil } }
        return { name in try? self.lookup(name, in: folder, (path, opened)) }
    }

    /// - Parameter listed: the folder, where it is open already.
    private func lookup(
        _ name: Name, in folder: Node, _ listed: (path: FilePath, folder: OpenFolder)?
    ) throws(Errno) -> Entry {
        let (node, status) = try inNamespace(of: folder) { place throws(Errno) in
            // It may lie at another path by now, with another folder in its place.
            try find(name, in: place, listed?.path == place.path ? listed?.folder : nil)
        }
        do {
            let attributes = try attributes(of: node, known: status)
            let timeout = node.kind == .directory || status != nil && isSettled(node) ? MountState.timeout : 0
            return Entry(
                inode: node.inode, attributes: attributes, attributeTimeout: timeout, entryTimeout: timeout)
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    /// Whether what is told of a file changes only when the disk does. A symbolic link's length is that of its target's
    /// visible name, which depends on what lies elsewhere.
    private func isSettled(_ node: Node) -> Bool { node.fileKind == .regular && !node.isOnlyInMemory }

    /// The node of a name, with a lookup counted. Under the store's namespace lock.
    /// - Parameter opened: the folder, where it is open already.
    func find(
        _ name: Name, in folder: FolderPlace, _ opened: OpenFolder? = nil
    ) throws(Errno) -> (Node, FileStatus?) {
        let parent = folder.node
        let known = tree.child(name, of: parent)
        guard let found = try resolve(name, in: folder.path, opened) else {
            // As statvfs(3) says, for whatever is to be done with the name: a secret's takes `.gpg` on disk.
            guard let known else { throw name.byteCount > 251 ? .fileNameTooLong : .noSuchFileOrDirectory }
            // Not on disk: it is only in memory, or it was removed behind our back.
            guard known.isOnlyInMemory else {
                // What is not saved below a folder keeps its path, to be listed and to be saved there some day.
                if known.kind != .directory || !hasTextBelow(known) { tree.lose(known) }
                throw .noSuchFileOrDirectory
            }
            guard tree.countLookup(of: known) else { return try find(name, in: folder, opened) }
            return (known, nil)
        }
        if let known {
            if known.matches(found), backs(known, found.name, name), !hasOutdatedReaders(known, found.status)
            {
                guard tree.countLookup(of: known) else { return try find(name, in: folder, opened) }
                return (known, found.status)
            }
            // A text that is being written below must not lose its path: it could be neither saved nor listed.
            if known.kind == .directory, tree.hasWriter(below: known) { throw .resourceBusy }
            giveWay(known, to: found, in: parent)
        }
        let node = tree.insert(kind(of: found), name: name, backing: found.name, in: parent)
        return (node, found.status)
    }

    /// Whether a secret anywhere below a folder is newer than the disk, or may be written to.
    func hasTextBelow(_ folder: Node) -> Bool {
        dirtyNodes.contains { tree.isBelow($0, folder) } || tree.hasWriter(below: folder)
    }

    /// Refuses to make what would take the place of a folder that others removed while something below it is still to be saved
    /// there.
    func checkIsVacant(_ name: Name, in folder: Node) throws(Errno) {
        if let known = tree.child(name, of: folder), known.kind == .directory, hasTextBelow(known) {
            throw .resourceBusy
        }
    }

    /// The facts of the file on disk that a node's name stands for; nil where it has no name.
    /// - Throws: ENOENT where the name stands for nothing, ESTALE where it stands for another file: the kernel goes on with
    ///   names for a moment (`MountState.timeout`), and looks this one up again then.
    func statusByName(of node: Node) throws(Errno) -> FileStatus? {
        try namespace.withLock { _ throws(Errno) in
            guard let backing = tree.backingPath(of: node),
                let visible = tree.visiblePath(of: node)?.lastComponent
            else { return nil }
            guard let found = try resolve(visible, in: backing.removingLastComponent()) else {
                throw .noSuchFileOrDirectory
            }
            guard found.name == backing.lastComponent, node.matches(found) else { throw .staleNFSFileHandle }
            return found.status
        }
    }

    /// Refuses to open what its name does not stand for any more.
    /// - Parameter onlyReads: what is written to a file without a name is lost, what is read of one is as old as the name.
    /// - Throws: ESTALE also where the name stands for nothing: the kernel looks it up again, and makes a file for who asks for
    ///   that (O_CREAT), where ENOENT would end the open.
    func checkName(of node: Node, onlyReads: Bool) throws(Errno) {
        guard node.fileKind == .regular, !node.isOnlyInMemory else { return }
        do throws(Errno) {
            guard try statusByName(of: node) == nil else { return }
        } catch {
            throw error == .noSuchFileOrDirectory ? .staleNFSFileHandle : error
        }
        // What was unlinked and is open still is opened again through /proc. Whoever has just found it, and meets a rename that
        // takes the name, reads what it had found, as on a disk. After what others did on disk the kernel may go on with the
        // name, and looks it up again.
        let isServed = node.secret?.state.withLock { $0.handles > 0 || onlyReads && $0.isLoaded }
        if isServed != true || tree.lostPlace(of: node) != nil { throw .staleNFSFileHandle }
    }

    /// What a name stands for on disk, but for what is parked.
    func resolve(
        _ name: Name, in path: FilePath, _ opened: OpenFolder? = nil
    ) throws(Errno) -> BackingEntry? {
        let folder: OpenFolder
        do throws(Errno) {
            folder = if let opened { opened } else { try root.openFolder(path) }
        } catch .noSuchFileOrDirectory {
            return nil
        }
        let found = try VisibleName.resolve(name, keeping: { kept.include($0, in: path) }) {
            name throws(Errno) in try folder.statusIfPresent(of: name)
        }
        guard let found else { return nil }
        if parked.isEmpty { return found }
        guard let status = parked.status(at: path.appending(found.name)) else { return found }
        if found.status.isUnchanged(since: status) { return nil }
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
            guard state.handles > 0, !state.isDirty else { return false }
            // Who opened it before gets what is being decrypted, and who opens it now what lies there now.
            let base = state.isLoaded ? state.base : state.decryption?.ciphertext
            return base.map { !status.isUnchanged(since: $0) } ?? false
        }
    }

    /// Whether a node is the file on disk that its visible name stands for: that may have become another one, as `x.gpg`
    /// is `x.gpg.gpg` or `x.gpg`, by what else is there.
    private func backs(_ node: Node, _ found: Name, _ visible: Name) -> Bool {
        // Its visible name is the one that it was found by.
        guard let backing = tree.place(of: node)?.backing else { return false }
        if backing == (found == visible ? .same : .suffixed) { return true }
        // What is not saved yet goes to where it was read, though somebody has removed that.
        return backing == .same && node.isOnlyInMemory
    }

    /// Something else now lies on disk under a node's visible name. A file that is still there, and a secret that is not
    /// saved yet, moves to the name that it has on disk, so that nothing is lost; anything else loses its name.
    private func giveWay(_ node: Node, to found: BackingEntry, in parent: Node) {
        if let file = node.secret, file.state.withLock({ $0.isScratch }) { return dropScratch(node) }
        guard let backing = tree.backingName(of: node),
            node.isOnlyInMemory
                || backing != tree.visiblePath(of: node)?.lastComponent && backing != found.name
        else {
            tree.lose(node)
            return
        }
        tree.move(node, to: parent, name: backing, backing: backing)
    }
}
