import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// What was agreed to of the lists in a folder goes with it.
    func withLists<Value>(
        of folder: FilePath, movedTo other: FilePath, isExchange: Bool = false,
        _ move: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let lists = try Errno.catching { () throws(StoreError) in
            try store.beginMove(folder, to: other, isExchange: isExchange)
        }
        defer { if let lists { store.endMove(lists) } }
        return try move()
    }

    /// Swaps two names of the same kind where the same recipients apply; EINVAL otherwise, as a file system that
    /// cannot. Returns false when what was looked at has changed.
    func exchange(
        _ oldName: Name, in one: Node, with newName: Name, in other: Node
    ) throws(Errno) -> Bool {
        // Both stay known until the names are changed.
        let (first, second) = try namespace.withLock { _ throws(Errno) in
            let (first, _) = try find(oldName, in: place(of: one))
            do throws(Errno) {
                return (first, try find(newName, in: place(of: other)).0)
            } catch {
                tree.forget(first.inode, count: 1)
                throw error
            }
        }
        defer { for node in [first, second] { tree.forget(node.inode, count: 1) } }
        guard !isScratch(first), !isScratch(second), first.kind == second.kind,
            !isRecipientFile(first), !isRecipientFile(second),
            first.kind == .secret || first.kind == .directory
        else { throw .invalidArgument }
        guard let onePath = tree.backingPath(of: first), let otherPath = tree.backingPath(of: second) else {
            return false
        }
        guard try haveSameRecipients(onePath, otherPath) else { throw .invalidArgument }
        try checkPlace(of: first, from: onePath, to: otherPath, isNew: false)
        try checkPlace(of: second, from: otherPath, to: onePath, isNew: false)
        for node in [first, second] {
            if let file = node.secret { try save(node, file) }
        }
        let links: [Change]?
        if first.kind == .directory {
            // As for a rename: the names of what is parked below would not follow.
            for path in [onePath, otherPath] { expire(parked.take(below: path)) }
            links = try withLists(of: onePath, movedTo: otherPath, isExchange: true) { () throws(Errno) in
                try exchange(first, at: onePath, with: second, at: otherPath)
            }
        } else {
            links = try exchange(first, at: onePath, with: second, at: otherPath)
        }
        guard let links else { return false }
        sink.note(.saved(onePath))
        sink.note(.saved(otherPath))
        tell(links)
        return true
    }

    /// Durable on return. Gives what happened to links; nil when the names have changed.
    private func exchange(
        _ first: Node, at onePath: FilePath, with second: Node, at otherPath: FilePath
    ) throws(Errno) -> [Change]? {
        let done = try namespace.withLock { _ throws(Errno) -> DoneMove? in
            guard tree.backingPath(of: first) == onePath, tree.backingPath(of: second) == otherPath
            else { return nil }
            let folders = [try root.folder(holding: onePath), try root.folder(holding: otherPath)]
            let earlier = [try root.status(of: onePath), try root.status(of: otherPath)]
            try root.rename(onePath, to: otherPath, flags: .exchange)
            tree.exchange(first, second)
            if first.kind == .directory { kept.exchange(onePath, otherPath) }
            for (index, (node, path)) in [(first, otherPath), (second, onePath)].enumerated() {
                let status = try root.status(of: path)
                guard node.kind == .secret else { continue }
                store.keepSize(of: earlier[index], as: status)
                node.secret?.state.withLock { $0.base = status }
            }
            let links = first.kind == .directory ? settleAllLinks() : []
            return DoneMove(links: links, folders: folders)
        }
        guard let done else { return nil }
        try done.synchronize()
        return done.links
    }
}
