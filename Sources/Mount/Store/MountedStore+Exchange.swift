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

    /// Swaps two names of the same kind where the same recipients apply, or a secret with a scratch file; EINVAL
    /// otherwise, as a file system that cannot. Returns false when what was looked at has changed.
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
        guard first.kind == second.kind, !isRecipientFile(first), !isRecipientFile(second),
            first.kind == .secret || first.kind == .directory
        else { throw .invalidArgument }
        switch (isScratch(first), isScratch(second)) {
        case (true, true):
            namespace.withLock { _ in tree.exchange(first, second) }
            return true
        case (true, false): return try exchange(second, withScratch: first)
        case (false, true): return try exchange(first, withScratch: second)
        case (false, false): break
        }
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

    /// Swaps a secret with a scratch file: an editor puts its new version in place. That one is encrypted right now; what
    /// the secret held goes on in memory. Returns false when what was looked at has changed.
    private func exchange(_ secret: Node, withScratch scratch: Node) throws(Errno) -> Bool {
        guard let path = tree.backingPath(of: secret) else { return false }
        guard let kept = beginHandle(secret) else { throw .staleNFSFileHandle }
        defer { endHandle(secret, kept) }
        guard let file = beginHandle(scratch) else { throw .staleNFSFileHandle }
        defer { endHandle(scratch, file) }
        try loadWithoutAsking(secret, kept)
        keepScratch(secret)
        var isDone = false
        defer { if !isDone { endScratch(secret) } }
        let done = try Errno.catching { () throws(StoreError) in
            try file.saving.withLock { _ throws(StoreError) -> DoneMove? in
                let snapshot = try file.snapshot()
                let unedited = file.state.withLock { $0.base?.identity.modified }
                let staged = try store.stage(
                    snapshot.bytes, for: path, accessed: snapshot.accessed,
                    modified: snapshot.modified ?? unedited)
                let done = try self.place(
                    staged, as: path, of: (secret, kept), (scratch, file), version: snapshot.version)
                if done != nil, !store.isForItsRecipients(staged, at: path) {
                    file.state.withLock { $0.requireSave() }
                }
                return done
            }
        }
        guard let done else { return false }
        isDone = true
        unmarkIfSaved(secret, kept)
        file.returnScratchMemory()
        endScratch(scratch)
        try done.synchronize()
        sink.note(.saved(path))
        tell(done.links)
        if file.state.withLock({ $0.isDirty }) {
            // The recipients changed meanwhile. The exchange is done; a failure is kept for `status`.
            markDirty(scratch)
            try? save(scratch, file)
        }
        return true
    }

    /// Gives the ciphertext of a scratch file the name of a secret, and the secret's node that of the scratch file; nil
    /// when what was looked at has changed.
    private func place(
        _ staged: StagedSecret, as path: FilePath, of secret: (node: Node, file: SecretFile),
        _ scratch: (node: Node, file: SecretFile), version: UInt64
    ) throws(StoreError) -> DoneMove? {
        try namespace.withLock { _ throws(StoreError) -> DoneMove? in
            guard tree.backingPath(of: secret.node) == path, tree.backingPath(of: scratch.node) != nil,
                scratch.file.state.withLock({ $0.isScratch })
            else { return nil }
            let (folder, disk) = try StoreError.wrapping("stat", path) { () throws(Errno) in
                (try root.folder(holding: path), try root.statusIfPresent(of: path))
            }
            let isAsRead = secret.file.state.withLock { state in
                if let base = state.base, let disk { return disk.isUnchanged(since: base) }
                return state.base == nil && disk == nil
            }
            guard isAsRead, !isScratch(secret.node) else { return nil }
            try StoreError.wrapping("keep in memory", path) { () throws(Errno) in
                try secret.file.state.withLock { (state) throws(Errno) in
                    try state.checkLoaded()
                    state.isScratch = true
                    do throws(Errno) {
                        try secret.file.takeScratchMemory(for: state.count, &state)
                    } catch {
                        state.isScratch = false
                        throw error
                    }
                }
            }
            let status: FileStatus
            do throws(StoreError) {
                status = try staged.publish(as: path)
            } catch {
                secret.file.state.withLock { $0.isScratch = false }
                secret.file.returnScratchMemory()
                throw error
            }
            tree.exchange(secret.node, scratch.node)
            secret.file.state.withLock { $0.origin = nil }
            scratch.file.state.withLock { state in
                state.markSaved(version, as: status)
                state.isScratch = false
                state.origin = nil
            }
            return DoneMove(links: settleLinks(to: scratch.node), folders: [folder])
        }
    }
}
