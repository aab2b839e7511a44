import Fuse
import Glibc
import OpenPGP
public import Stores
import Synchronization
import SystemPackage

/// A secret whose save failed; its content is still in memory.
public struct UnsavedSecret: Sendable, Equatable {
    /// The name of its store.
    public var store: String
    /// Its path in the store as the mount shows it.
    public var path: String
    /// Why the save failed: one sentence.
    public var message: String
    /// When it failed first.
    public var since: FileTime
}

extension StoreFilesystem {
    /// Notes that a content is newer than the disk, so that the node stays although the kernel may forget it.
    func markDirty(_ node: Node) {
        guard node.secret?.state.withLock({ $0.isDirty }) == true else { return }
        // Before it is in the list: a save that ends right then takes both away again.
        tree.pin(node)
        _ = node.beginUse()
        let isNew = dirty.withLock { dirty in
            dirty.updateValue(node, forKey: node.inode) == nil
        }
        guard !isNew else { return }
        tree.unpin(node)
        node.endUse()
    }

    /// Notes that nothing of a node is waiting to be saved, if that is so.
    func unmarkIfSaved(_ node: Node, _ file: SecretFile) {
        let isSaved = file.state.withLock { !$0.isDirty }
        guard isSaved else { return }
        let wasDirty = dirty.withLock { $0.removeValue(forKey: node.inode) != nil }
        // An edit between the two looks has found the node still marked.
        markDirty(node)
        guard wasDirty else { return }
        tree.unpin(node)
        node.endUse()
    }

    /// Encrypts what is edited and puts it in place; returns when it is durable on disk (rule 1 of the map). On
    /// failure the old ciphertext stays, the content stays in memory, and the failure is kept for `status`.
    func save(_ node: Node, _ file: SecretFile) throws(Errno) {
        do {
            try file.saving.withLock { _ throws(StoreError) in
                try self.saveInTurn(node, file)
            }
        } catch {
            let errno = Errno(error)
            if error.isKept { unmarkIfSaved(node, file) }
            file.state.withLock { state in
                guard state.isDirty else { return }
                state.failure = SecretFile.Failure(
                    errno: errno, message: error.message, since: state.failure?.since ?? .now)
            }
            if tree.backingPath(of: node).map(Store.isRecipientFile) == true {
                failedLists.withLock { $0[node.inode] = node }
            }
            throw errno
        }
        unmarkIfSaved(node, file)
    }

    private func saveInTurn(_ node: Node, _ file: SecretFile) throws(StoreError) {
        guard let store = node.store else { return }
        let root = store.store.root
        for _ in 0..<16 {
            try root.follow(as: store.store.name)
            let generation = root.generation
            do throws(StoreError) {
                try saveInFolder(node, file, store)
            } catch {
                if root.generation == generation { throw error }
            }
            // What reached a folder that is not the store's any more is not saved.
            do throws(StoreError) {
                try root.follow(as: store.store.name)
            } catch {
                file.state.withLock { $0.requireSave() }
                throw error
            }
            if root.generation == generation { return }
            file.state.withLock { $0.requireSave() }
        }
        throw StoreError(.unstable, "the store's folder is replaced again and again: save it again.")
    }

    private func saveInFolder(
        _ node: Node, _ file: SecretFile, _ store: MountedStore
    ) throws(StoreError) {
        // Renamed while it was encrypted: other recipients may apply there.
        for _ in 0..<16 {
            guard let path = tree.backingPath(of: node) else {
                file.state.withLock { $0.abandonEdits() }
                return
            }
            guard let snapshot = try snapshot(file) else { return }
            let version = snapshot.version
            if Store.isRecipientFile(path) {
                return try saveRecipients(snapshot, at: path, file, store)
            }
            try checkListsAreSaved(for: path, store)
            let staged = try store.store.stage(
                snapshot.bytes, for: path, accessed: snapshot.accessed, modified: snapshot.modified)
            let conflict = try store.namespace.withLock { _ throws(StoreError) -> Placed? in
                guard self.tree.backingPath(of: node) == path else { return nil }
                let root = store.store.root
                let folder = try self.folder(holding: path, root)
                let kept = try self.keepForeignVersion(at: path, file, store)
                let placed = try staged.publish(as: path) { status, place in
                    self.isOurs(status, at: place, file, store)
                } keepingOthersAt: { () throws(Errno) in
                    try self.freeConflictPath(beside: path, root)
                }
                file.state.withLock { $0.markSaved(version, as: placed.status) }
                store.parked.remove(path)
                return Placed(
                    folder: folder, keptAs: [kept, placed.kept].compactMap(\.self),
                    links: self.settleLinks(to: node, of: store))
            }
            guard let conflict else { continue }
            do {
                try conflict.folder.synchronize()
            } catch {
                // It may not survive a power cut: it is not saved yet.
                file.state.withLock { $0.requireSave() }
                throw StoreError(error, "make durable the folder of", path)
            }
            for kept in conflict.keptAs { store.sink.note(.saved(kept)) }
            store.sink.note(.saved(path))
            tell(conflict.links, of: store)
            if store.store.isForItsRecipients(staged, at: path) { return }
            // Their list changed while it was encrypted.
            file.state.withLock { $0.requireSave() }
        }
        throw StoreError(
            .unstable,
            "the secret is renamed, or its recipients change, faster than it can be saved: save it again.")
    }

    private func folder(holding path: FilePath, _ root: Root) throws(StoreError) -> ChangedFolder {
        do throws(Errno) {
            return try root.folder(holding: path)
        } catch {
            throw StoreError(error, "open the folder of", path)
        }
    }

    /// Refuses while the list that applies, as the mount shows it, could not be saved: what is encrypted by the one on disk may
    /// be for somebody whom the user has just taken out.
    private func checkListsAreSaved(for secret: FilePath, _ store: MountedStore) throws(StoreError) {
        for node in failedLists.withLock({ Array($0.values) }) where node.store === store {
            guard let failure = node.secret?.state.withLock({ $0.failure }) else {
                failedLists.withLock { $0[node.inode] = nil }
                continue
            }
            guard let list = tree.backingPath(of: node), Store.isRecipientFile(list),
                secret.starts(with: list.removingLastComponent())
            else { continue }
            // A list between the two is what counts for the secret.
            let nearer = try? store.store.recipientFile(for: secret)
            if let nearer, nearer != list,
                nearer.removingLastComponent().starts(with: list.removingLastComponent())
            {
                continue
            }
            throw StoreError(
                .badRecipientFile,
                "\(list.string) is not saved, and whom it is for is not known before that: \(failure.message)"
            )
        }
    }

    private struct Placed {
        var folder: ChangedFolder
        var keptAs: [FilePath]
        var links: [Change]
    }

    private func snapshot(
        _ file: SecretFile
    ) throws(StoreError) -> Snapshot? {
        do throws(Errno) {
            return try file.state.withLock { (state) throws(Errno) in
                guard state.isDirty else { return nil }
                return try state.snapshot()
            }
        } catch {
            throw StoreError(.system(error), "there is no memory for a copy of the secret.")
        }
    }

    /// Somebody else put another version in place since ours was read: theirs gets a name beside it, so that
    /// nothing is lost, not even when this is killed. What comes after this look, the exchange keeps. Under the namespace lock.
    private func keepForeignVersion(
        at path: FilePath, _ file: SecretFile, _ store: MountedStore
    ) throws(StoreError) -> FilePath? {
        let root = store.store.root
        do throws(Errno) {
            guard let disk = try root.statusIfPresent(of: path), !isOurs(disk, at: path, file, store) else {
                return nil
            }
            let kept = try freeConflictPath(beside: path, root)
            try root.rename(path, to: kept, flags: .noReplace)
            return kept
        } catch {
            throw StoreError(error, "keep the other version of", path)
        }
    }

    /// Whether a ciphertext is the one that was read, or the same one only encrypted to other recipients meanwhile: nobody's
    /// words are lost with it.
    private func isOurs(
        _ status: FileStatus, at path: FilePath, _ file: SecretFile, _ store: MountedStore
    ) -> Bool {
        guard let base = file.state.withLock({ $0.base }) else { return false }
        return base.isSameContent(as: status) || store.store.isReencryption(of: base.identity, at: path)
    }

    private func freeConflictPath(beside path: FilePath, _ root: Root) throws(Errno) -> FilePath {
        for attempt in 0..<100 {
            let candidate = ConflictName.path(
                beside: path, at: FileTime.now.seconds, attempt: attempt, isSecret: true)
            if try root.statusIfPresent(of: candidate) == nil { return candidate }
        }
        throw .fileExists
    }

    /// The secrets whose save failed.
    public var unsaved: [UnsavedSecret] {
        dirty.withLock { Array($0.values) }.compactMap { node in
            guard let store = node.store, let path = tree.visiblePath(of: node),
                let failure = node.secret?.state.withLock({ $0.failure })
            else { return nil }
            return UnsavedSecret(
                store: store.store.name, path: path.string, message: failure.message, since: failure.since)
        }.sorted { ($0.store, $0.path) < ($1.store, $1.path) }
    }

    /// Secrets of a store that a program is writing: what it wrote is not saved before it closes or syncs the file.
    public func beingWritten(ofStore name: String) -> [String] {
        dirty.withLock { Array($0.values) }.compactMap { node in
            guard node.store?.store.name == name, let file = node.secret,
                file.state.withLock({ $0.isDirty && $0.failure == nil }), !isUnusedProbe(node, file)
            else { return nil }
            return tree.visiblePath(of: node)?.string
        }.sorted()
    }

    /// Secrets of a store that a program has open and may still write to.
    public func openForWriting(ofStore name: String) -> [String] {
        let nodes = handles.writable.filter { $0.store?.store.name == name && !isScratch($0) }
        return Set(nodes.compactMap { tree.visiblePath(of: $0)?.string }).sorted()
    }

    /// Tries again what failed; returns how many secrets are saved now that were not before.
    @discardableResult
    public func retryFailedSaves() -> Int {
        let failed = dirty.withLock { Array($0.values) }.filter { node in
            node.secret?.state.withLock { $0.failure != nil } == true
        }
        return saveAll(failed)
    }

    /// Saves everything that is newer than the disk; what fails stays listed in `unsaved`.
    @discardableResult
    public func saveEverything() -> Int {
        saveAll(dirty.withLock { Array($0.values) })
    }

    @discardableResult
    func saveAll(_ nodes: [Node]) -> Int {
        var count = 0
        for node in nodes {
            guard let file = beginHandle(node) else { continue }
            if !isUnusedProbe(node, file), (try? save(node, file)) != nil { count += 1 }
            // Where nobody has it open, the plaintext is forgotten as after a close.
            endHandle(node, file)
        }
        return count
    }
}
