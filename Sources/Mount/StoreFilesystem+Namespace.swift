public import Fuse
import Stores
import Synchronization
import System
public import SystemPackage

extension StoreFilesystem {
    /// mkdir(2), durable on return.
    public func makeDirectory(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry {
        let (folder, store) = try writableFolder(parent)
        guard !VisibleName.isHidden(name) else { throw .notPermitted }
        let (node, changed) = try store.namespace.withLock { _ throws(Errno) in
            let place = try self.place(of: folder)
            let child = place.path.appending(name)
            try self.checkPlace(child, of: .directory)
            guard try self.isFree(name, in: place, of: store) else { throw .fileExists }
            let changed = try store.store.root.folder(holding: child)
            try store.store.root.makeDirectory(child)
            // A folder that was removed behind our back stays known while something below it is not saved.
            if let known = self.tree.child(name, of: folder), known.kind == .directory {
                self.tree.countLookup(of: known)
                return (known, changed)
            }
            return (self.tree.insert(.directory, name: name, backing: name, in: folder), changed)
        }
        try changed.synchronize()
        return try entry(node)
    }

    /// Whether nothing is shown under a name. Under the namespace lock.
    func isFree(_ name: Name, in folder: FolderPlace, of store: MountedStore) throws(Errno) -> Bool {
        do {
            let (node, _) = try find(name, in: folder, of: store)
            tree.forget(node.inode, count: 1)
            return false
        } catch .noSuchFileOrDirectory {
            return true
        }
    }

    /// unlink(2), durable on return; open handles go on with what they have.
    public func unlink(_ request: Request, in parent: InodeNumber, name: Name) throws(Errno) {
        let (folder, store) = try writableFolder(parent)
        let (node, removed, changed) = try store.namespace.withLock {
            _ throws(Errno) -> (Node, FilePath?, ChangedFolder?) in
            let (node, status) = try self.find(name, in: self.place(of: folder), of: store)
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
            let changed = status == nil ? nil : try store.store.root.folder(holding: backing)
            if status != nil { try store.store.root.unlink(backing) }
            store.kept.remove(backing)
            try self.keepName(besides: backing, shownAs: name, of: store)
            self.unwatch(node, of: store)
            self.tree.detach(node)
            // Open handles go on with what they have; it is not saved any more.
            node.secret?.state.withLock { $0.abandonEdits() }
            return (node, status == nil ? nil : backing, changed)
        }
        if let file = node.secret { unmarkIfSaved(node, file) }
        guard let removed else { return }
        try changed?.synchronize()
        store.sink.note(.removed(removed))
    }

    /// rmdir(2): only what is empty on disk, too.
    public func removeDirectory(_ request: Request, in parent: InodeNumber, name: Name) throws(Errno) {
        let (folder, store) = try writableFolder(parent)
        // What was renamed away from this folder is not shown any more, and is not to keep it.
        if !store.parked.isEmpty, let path = tree.backingPath(of: folder) {
            expireParked(store, below: path.appending(name))
        }
        let changed = try store.namespace.withLock { _ throws(Errno) in
            let place = try self.place(of: folder)
            let removed = place.path.appending(name)
            let (node, _) = try self.find(name, in: place, of: store)
            defer { self.tree.forget(node.inode, count: 1) }
            guard node.kind == .directory else { throw .notDirectory }
            guard !self.hasMemoryChildren(node) else { throw .directoryNotEmpty }
            let changed = try store.store.root.folder(holding: removed)
            try store.store.root.removeDirectory(removed)
            try self.keepName(besides: removed, shownAs: name, of: store)
            self.tree.detach(node)
            return changed
        }
        try changed.synchronize()
    }

    /// What has had to be shown with its `.gpg`, because of a name that has just gone from the disk, goes on being shown so.
    /// Under the namespace lock.
    func keepName(besides path: FilePath, shownAs visible: Name?, of store: MountedStore) throws(Errno) {
        // A secret `x.gpg` that is shown as `x` was in nobody's way.
        guard let name = path.lastComponent, name == visible else { return }
        let suffixed = name.appendingSuffix()
        guard suffixed.byteCount <= 255 else { return }
        let other = path.removingLastComponent().appending(suffixed)
        guard let status = try store.store.root.statusIfPresent(of: other), status.kind != .directory,
            store.parked.status(at: other) == nil
        else { return }
        store.kept.add(other)
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

    /// link(2): EPERM.
    public func link(
        _ request: Request, _ inode: InodeNumber, to parent: InodeNumber, name: Name
    ) throws(Errno) -> Entry {
        // One secret, one name: programs fall back to rename.
        throw .notPermitted
    }
}
