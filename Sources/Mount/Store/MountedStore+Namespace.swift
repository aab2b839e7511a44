import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    func makeDirectory(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        guard !VisibleName.isHidden(name) else { throw .notPermitted }
        let (node, changed) = try inNamespace(of: folder) { place throws(Errno) in
            let child = place.path.appending(name)
            try self.checkPlace(child, of: .directory)
            guard try self.isFree(name, in: place), !isClaimed(name, in: place) else {
                throw .fileExists
            }
            let changed = try root.folder(holding: child)
            try root.makeDirectory(child)
            // A folder that was removed behind our back stays known while something below it is not saved.
            if let known = self.tree.child(name, of: folder), known.kind == .directory,
                self.tree.countLookup(of: known)
            {
                return (known, changed)
            }
            return (self.tree.insert(.directory, name: name, backing: name, in: folder), changed)
        }
        try changed.synchronize()
        expireBeside(node)
        return try entry(node)
    }

    /// Whether nothing is shown under a name. Under the namespace lock.
    func isFree(_ name: Name, in folder: FolderPlace) throws(Errno) -> Bool {
        do {
            let (node, _) = try find(name, in: folder)
            tree.forget(node.inode, count: 1)
            return false
        } catch .noSuchFileOrDirectory {
            return true
        }
    }

    func unlink(_ name: Name, in folder: Node) throws(Errno) {
        if name == Store.recipientFileName, let path = tree.backingPath(of: folder),
            try root.statusIfPresent(of: path.appending(name)) != nil
        {
            return try unlinkList(of: folder)
        }
        let (node, removed, changed) = try inNamespace(of: folder) {
            place throws(Errno) -> (Node, FilePath?, ChangedFolder?) in
            let (node, status) = try find(name, in: place)
            defer { self.tree.forget(node.inode, count: 1) }
            switch node.kind {
            case .root, .directory: throw .isDirectory
            case .plain: throw .notPermitted
            case .secret, .symbolicLink, .memoryLink: break
            }
            if self.isScratch(node) {
                self.dropScratch(node)
                return (node, nil, nil)
            }
            guard let backing = self.tree.backingPath(of: node) else { throw .noSuchFileOrDirectory }
            // Others would apply, and what is below would have to be encrypted to them.
            if Store.isRecipientFile(backing), status != nil { throw .notPermitted }
            let changed = status == nil ? nil : try root.folder(holding: backing)
            if let status {
                try root.unlink(backing)
                store.forgetSize(of: status)
            }
            kept.remove(backing)
            try self.keepName(besides: backing, shownAs: name)
            self.unwatch(node)
            self.tree.detach(node)
            // Open handles go on with what they have; it is not saved any more.
            node.secret?.state.withLock { $0.abandonEdits() }
            return (node, status == nil ? nil : backing, changed)
        }
        if let file = node.secret { unmarkIfSaved(node, file) }
        guard let removed else { return }
        try changed?.synchronize()
        sink.note(.removed(removed))
    }

    func removeDirectory(_ name: Name, in folder: Node) throws(Errno) {
        // What was renamed away from this folder is not shown any more, and is not to keep it.
        if !parked.isEmpty, let path = tree.backingPath(of: folder) {
            expire(parked.take(below: path.appending(name)))
        }
        let changed = try inNamespace(of: folder) { place throws(Errno) in
            let removed = place.path.appending(name)
            let (node, _) = try self.find(name, in: place)
            defer { self.tree.forget(node.inode, count: 1) }
            guard node.kind == .directory else { throw .notDirectory }
            // Also where others removed it on disk while a program has it open for writing.
            guard !self.hasMemoryChildren(node), !hasTextBelow(node) else { throw .directoryNotEmpty }
            let changed = try root.folder(holding: removed)
            try root.removeDirectory(removed)
            try self.keepName(besides: removed, shownAs: name)
            self.tree.detach(node)
            return changed
        }
        try changed.synchronize()
    }

    /// What has had to be shown with its `.gpg`, because of a name that has just gone from the disk, goes on being shown so.
    /// Under the namespace lock.
    func keepName(besides path: FilePath, shownAs visible: Name?) throws(Errno) {
        // A secret `x.gpg` that is shown as `x` was in nobody's way.
        guard let name = path.lastComponent, name == visible else { return }
        let suffixed = name.appendingSuffix()
        guard suffixed.byteCount <= 255 else { return }
        let other = path.removingLastComponent().appending(suffixed)
        guard let status = try root.statusIfPresent(of: other), status.kind != .directory,
            parked.status(at: other) == nil
        else { return }
        kept.add(other)
    }

    /// Whether something in a folder exists in memory only.
    func hasMemoryChildren(_ node: Node) -> Bool {
        tree.pinnedChildren(of: node).contains(where: \.node.isOnlyInMemory)
    }

    /// Whether a node is a scratch file or a link in memory.
    func isScratch(_ node: Node) -> Bool {
        if case .memoryLink = node.kind { return true }
        return node.secret?.state.withLock { $0.isScratch } ?? false
    }
}
