import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension StoreFilesystem {
    /// What was agreed to of the lists in a folder goes with it.
    func withLists<Value>(
        of folder: FilePath, movedTo other: FilePath, isExchange: Bool = false, in store: MountedStore,
        _ move: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let lists: ListMove?
        do throws(StoreError) {
            lists = try store.store.beginMove(folder, to: other, isExchange: isExchange)
        } catch {
            throw Errno(error)
        }
        defer { if let lists { store.store.endMove(lists) } }
        return try move()
    }

    /// Swaps two names of the same kind where the same recipients apply; EINVAL otherwise, as a file system that
    /// cannot.
    func exchange(
        _ oldName: Name, in one: FolderPlace, with newName: Name, in other: FolderPlace,
        of store: MountedStore
    ) throws(Errno) {
        let (first, second) = try store.namespace.withLock { _ throws(Errno) in
            let (first, _) = try self.find(oldName, in: one.node, at: one.path, of: store)
            defer { self.tree.forget(first.inode, count: 1) }
            let (second, _) = try self.find(newName, in: other.node, at: other.path, of: store)
            defer { self.tree.forget(second.inode, count: 1) }
            return (first, second)
        }
        guard !isScratch(first), !isScratch(second), first.kind == second.kind,
            !isRecipientFile(first), !isRecipientFile(second),
            first.kind == .secret || first.kind == .directory
        else { throw .invalidArgument }
        for node in [first, second] {
            if let file = node.secret { try save(node, file) }
        }
        guard let onePath = tree.backingPath(of: first), let otherPath = tree.backingPath(of: second) else {
            throw .noSuchFileOrDirectory
        }
        guard try haveSameRecipients(store.store, onePath, otherPath) else { throw .invalidArgument }
        try checkPlace(of: first, from: onePath, to: otherPath, isNew: false, store)
        try checkPlace(of: second, from: otherPath, to: onePath, isNew: false, store)
        let links: [Change]
        if first.kind == .directory {
            links = try withLists(of: onePath, movedTo: otherPath, isExchange: true, in: store) {
                () throws(Errno) in
                try exchange(first, at: onePath, with: second, at: otherPath, of: store)
            }
        } else {
            links = try exchange(first, at: onePath, with: second, at: otherPath, of: store)
        }
        store.sink.note(.saved(onePath))
        store.sink.note(.saved(otherPath))
        tell(links, of: store)
    }

    /// Durable on return. Gives what happened to links.
    private func exchange(
        _ first: Node, at onePath: FilePath, with second: Node, at otherPath: FilePath, of store: MountedStore
    ) throws(Errno) -> [Change] {
        let links = try store.namespace.withLock { _ throws(Errno) in
            guard self.tree.backingPath(of: first) == onePath, self.tree.backingPath(of: second) == otherPath
            else {
                throw .resourceBusy
            }
            let root = store.store.root
            let earlier = [try root.status(of: onePath), try root.status(of: otherPath)]
            try root.rename(onePath, to: otherPath, flags: .exchange)
            self.tree.exchange(first, second)
            if first.kind == .directory { store.kept.exchange(onePath, otherPath) }
            for (index, (node, path)) in [(first, otherPath), (second, onePath)].enumerated() {
                let status = try root.status(of: path)
                guard node.kind == .secret else { continue }
                store.store.keepSize(of: earlier[index], as: status)
                node.secret?.state.withLock { $0.base = status }
            }
            return first.kind == .directory ? self.settleAllLinks(of: store) : []
        }
        try store.store.root.synchronizeParent(of: onePath)
        try store.store.root.synchronizeParent(of: otherPath)
        return links
    }
}
