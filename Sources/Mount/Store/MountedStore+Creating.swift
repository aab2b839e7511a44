import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// New files.
extension MountedStore {
    func create(
        _ name: Name, in folder: Node, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, any OpenFile)> {
        try checkShown(folder)
        if !isReadOnly.load(ordering: .relaxed) { try checkMayChange(name, in: folder, for: caller) }
        // Until it counts as open.
        ruledMoves.enter(folder)
        defer { ruledMoves.leave(folder) }
        // Before the lock: it may have to ask gpg what the keys are.
        if !isReadOnly.load(ordering: .relaxed), !mount.scratchNames.match(name), !VisibleName.isHidden(name),
            let path = tree.backingPath(of: folder)
        {
            let isList = name == Store.recipientFileName
            try checkCanSave(path.appending(isList ? name : name.appendingSuffix()))
        }
        let (node, isNew) = try inNamespace(of: folder) { place throws(Errno) -> (Node, Bool) in
            if let known = try findIfPresent(name, in: place) { return (known, false) }
            try checkWritable()
            if flags.isReadable, name != Store.recipientFileName,
                !mayCreate(name, in: folder, caller.processID)
            {
                throw .permissionDenied
            }
            do throws(Errno) {
                return (try make(name, in: place), true)
            } catch .fileExists {
                // Put there just now, by another program or with another folder that took the store's path.
                guard let known = try findIfPresent(name, in: place) else { throw .fileExists }
                return (known, false)
            }
        }
        do throws(Errno) {
            guard isNew else {
                // Somebody made it between the kernel's look-up and now.
                guard !flags.isExclusive else { throw .fileExists }
                let entry = try entry(node)
                return try open(node, flags: flags, for: caller).map { opened in
                    if case .failure = opened { self.tree.forget(node.inode, count: 1) }
                    return opened.map { (entry, $0) }
                }
            }
            guard let file = beginHandle(node) else { throw .staleNFSFileHandle }
            do throws(Errno) {
                // Nothing will ever flush it: what flock(1) makes must be on disk when it is open.
                try keep(node, file, isComplete: !flags.isWritable)
                return .now((try entry(node), OpenSecret(self, node, file, flags, for: caller)))
            } catch {
                endHandle(node, file)
                throw error
            }
        } catch {
            tree.forget(node.inode, count: 1)
            throw error
        }
    }

    func makeFile(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        let node = try inNamespace(of: folder) { place throws(Errno) in
            guard try isFree(name, in: place) else { throw .fileExists }
            return try make(name, in: place)
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
    private func make(_ name: Name, in folder: FolderPlace) throws(Errno) -> Node {
        let isScratch = mount.scratchNames.match(name)
        let file = SecretFile(newAt: .now, isScratch: isScratch, scratchMemory: mount.scratchMemory)
        try checkIsVacant(name, in: folder.node)
        guard !isScratch else {
            return tree.insert(.secret, name: name, backing: name, in: folder.node, file: file)
        }
        let backing = try newBackingName(name, in: folder.path)
        // What an editor has just renamed away is what this one replaces.
        let replaced = parked.status(at: folder.path.appending(backing))
        file.state.withLock { $0.base = replaced }
        return tree.insert(.secret, name: name, backing: backing, in: folder.node, file: file)
    }

    /// As `find`, but nil where there is nothing.
    func findIfPresent(
        _ name: Name, in folder: FolderPlace
    ) throws(Errno) -> Node? {
        do throws(Errno) {
            return try find(name, in: folder).0
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    func entry(_ node: Node) throws(Errno) -> Entry {
        Entry(inode: node.inode, attributes: try attributes(of: node))
    }
}
