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
    /// cannot. Returns false when what was looked at has changed.
    func exchange(
        _ oldName: Name, in one: Node, with newName: Name, in other: Node, of store: MountedStore
    ) throws(Errno) -> Bool {
        let (first, second) = try store.namespace.withLock { _ throws(Errno) in
            let (first, _) = try self.find(oldName, in: self.place(of: one), of: store)
            defer { self.tree.forget(first.inode, count: 1) }
            let (second, _) = try self.find(newName, in: self.place(of: other), of: store)
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
            return false
        }
        guard try haveSameRecipients(store.store, onePath, otherPath) else { throw .invalidArgument }
        try checkPlace(of: first, from: onePath, to: otherPath, isNew: false, store)
        try checkPlace(of: second, from: otherPath, to: onePath, isNew: false, store)
        let links: [Change]?
        if first.kind == .directory {
            links = try withLists(of: onePath, movedTo: otherPath, isExchange: true, in: store) {
                () throws(Errno) in
                try exchange(first, at: onePath, with: second, at: otherPath, of: store)
            }
        } else {
            links = try exchange(first, at: onePath, with: second, at: otherPath, of: store)
        }
        guard let links else { return false }
        store.sink.note(.saved(onePath))
        store.sink.note(.saved(otherPath))
        tell(links, of: store)
        return true
    }

    /// Durable on return. Gives what happened to links; nil when the names have changed.
    private func exchange(
        _ first: Node, at onePath: FilePath, with second: Node, at otherPath: FilePath, of store: MountedStore
    ) throws(Errno) -> [Change]? {
        let done = try store.namespace.withLock { _ throws(Errno) -> DoneMove? in
            guard self.tree.backingPath(of: first) == onePath, self.tree.backingPath(of: second) == otherPath
            else { return nil }
            let root = store.store.root
            let folders = [try root.folder(holding: onePath), try root.folder(holding: otherPath)]
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
            let links = first.kind == .directory ? self.settleAllLinks(of: store) : []
            return DoneMove(links: links, folders: folders)
        }
        guard let done else { return nil }
        try done.synchronize()
        return done.links
    }
}
