import Access
import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// Whether a node is a `.gpg-id`, whose content is no secret.
    func isRecipientFile(_ node: Node) -> Bool {
        tree.isCalled(Store.recipientFileName.bytes, onDisk: node)
    }

    /// Saves a `.gpg-id`: what is below is encrypted to the keys that it names, then it is put in place.
    func saveRecipients(
        _ snapshot: Snapshot, at path: FilePath, _ file: SecretFile
    ) throws(StoreError) {
        let now = try store.appliedList(of: path.removingLastComponent())
        let tried = file.state.withLock { $0.triedFrom } ?? now
        do throws(StoreError) {
            let status = try changeRecipients(snapshot, at: path, from: tried)
            file.state.withLock { $0.markSaved(snapshot.version, as: status) }
            parked.remove(path)
            failures.withLock { $0.remove { $0.path == path } }
        } catch {
            file.state.withLock { state in
                state.triedFrom = tried
                if error.isKept { state.abandonEdits(through: snapshot.version) }
            }
            if error.isKept, let place = error.place {
                // No program may be there any more that could be told.
                note(error.message, about: path, at: path, keptAt: place)
            }
            throw error
        }
    }

    /// - Parameter modified: when the content was changed; nil: now, unless the snapshot says otherwise.
    private func changeRecipients(
        _ snapshot: Snapshot, at path: FilePath, from tried: AppliedList, modified: FileTime? = nil
    ) throws(StoreError) -> FileStatus {
        // What is below would have to be read.
        if lock.isLocked { throw lockedError }
        guard let change = changeRecipients else {
            throw StoreError(.system(.permissionDenied), "\(path.string) cannot be changed here.")
        }
        // It is no secret, and who reads it must parse it.
        let bytes = snapshot.bytes.withUnsafeBytes { [UInt8]($0) }
        let folder = path.removingLastComponent()
        try change(folder, bytes, tried) { () throws(StoreError) in try checkStillMayChangeList(of: folder) }
        judgedLists.withLock { $0[folder] = nil }
        return try StoreError.wrapping("stat", path) { () throws(Errno) in
            let modified = snapshot.modified ?? modified
            if snapshot.accessed != nil || modified != nil {
                try root.setTimes(of: path, accessed: snapshot.accessed, modified: modified)
            }
            return try root.status(of: path)
        }
    }

    /// unlink(2) of the `.gpg-id` of an inner folder: what is below is encrypted to the keys that the list above names, then it
    /// is gone. Where it is for nothing, as at the end of `rm -r`, it is only gone.
    func unlinkList(of folder: Node) throws(Errno) {
        guard let path = tree.backingPath(of: folder), !path.isEmpty, let changeRecipients else {
            throw .notPermitted
        }
        let gone = try Errno.catching { () throws(StoreError) in
            if try !store.secrets(below: path, nested: false).isEmpty {
                if lock.isLocked { throw lockedError }
                try changeRecipients(
                    path, try store.inheritedFile(of: path).bytes, try store.appliedList(of: path)
                ) { () throws(StoreError) in try checkStillMayChangeList(of: path) }
            }
            judgedLists.withLock { $0[path] = nil }
            return try store.removeList(of: path)
        }
        let node = tree.child(Store.recipientFileName, of: folder)
        namespace.withLock { _ in if let node { self.tree.detach(node) } }
        if let node, let file = node.secret {
            file.state.withLock { $0.abandonEdits() }
            unmarkIfSaved(node, file)
        }
        for file in gone { sink.note(.removed(file)) }
    }

    /// A file gets the name `.gpg-id`, as editors and tools do that write a new file and rename it: its content is the
    /// new `.gpg-id`. Returns false when what was looked at has changed.
    func renameToRecipients(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        try loadWithoutAsking(move.node, file)
        let isScratch = file.state.withLock { $0.isScratch }
        do throws(StoreError) {
            try file.saving.withLock { _ throws(StoreError) in
                let snapshot = try file.snapshot()
                let list = try store.appliedList(of: move.destination.removingLastComponent())
                let status = try self.changeRecipients(
                    snapshot, at: move.destination, from: list,
                    modified: move.sourceStatus?.identity.modified)
                file.state.withLock { state in
                    state.isScratch = false
                    state.markSaved(snapshot.version, as: status)
                }
            }
        } catch {
            // Seen in status although the program may not say why it could not rename.
            let path = move.destination
            // Who stopped it is told, and it leaves nothing to be done.
            if error.code != .aborted || error.place != nil {
                note(
                    error.message, about: path, at: path, keptAt: error.place,
                    because: error.code == .locked ? .lock : .itself)
            }
            throw Errno(error)
        }
        let folders = try namespace.withLock { _ throws(Errno) -> [ChangedFolder]? in
            guard self.tree.backingPath(of: move.node) == move.source else { return nil }
            let folders = move.sourceStatus == nil ? [] : try self.changedFolders(move)
            if move.sourceStatus != nil { try root.unlink(move.source) }
            self.settle(move)
            return folders
        }
        guard let folders else { return true }
        if isScratch {
            file.returnScratchMemory()
            endScratch(move.node)
        }
        unmarkIfSaved(move.node, file)
        if move.sourceStatus != nil {
            for folder in folders { try folder.synchronize() }
            sink.note(.removed(move.source))
        }
        return true
    }
}

extension StoreError {
    /// Runs `body`; what it throws is what could not be done to a path.
    static func wrapping<Value>(
        _ deed: String, _ path: FilePath, _ body: () throws(Errno) -> Value
    ) throws(StoreError) -> Value {
        do throws(Errno) { return try body() } catch { throw StoreError(error, deed, path) }
    }

    /// Whether what was to be saved is kept elsewhere, and is not to be tried again.
    var isKept: Bool { [.keptElsewhere, .overtaken, .aborted].contains(code) }
}
