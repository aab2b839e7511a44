import Glibc
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// Encrypts what is edited and puts it in place; returns when it is durable on disk (rule 1 of the map). On
    /// failure the old ciphertext stays, the content stays in memory, and the failure is kept for `status`.
    func save(_ node: Node, _ file: SecretFile) throws(Errno) {
        do {
            // First, so that whatever comes of it is told by its name.
            if file.state.withLock({ $0.isDirty }) { _ = try takeNameBack(node, file) }
            try file.saving.withLock { _ throws(StoreError) in
                try self.saveInTurn(node, file)
            }
        } catch {
            let errno = Errno(error)
            if error.isKept { unmarkIfSaved(node, file) }
            let isNew = file.state.withLock { state in
                guard state.isDirty else { return false }
                defer {
                    state.failure = SecretFile.Failure(
                        errno: errno, message: error.message, since: state.failure?.since ?? .now)
                }
                return state.failure == nil
            }
            // Not every program looks at what close(2) says.
            if isNew, let unsaved = unsaved(node) { mount.options.saveFailed(unsaved) }
            if tree.backingPath(of: node).map(Store.isRecipientFile) == true {
                failedLists.withLock { $0[node.inode] = node }
            }
            throw errno
        }
        unmarkIfSaved(node, file)
    }

    private func saveInTurn(_ node: Node, _ file: SecretFile) throws(StoreError) {
        for _ in 0..<16 {
            try root.follow(as: store.name)
            let generation = root.generation
            do throws(StoreError) {
                try saveInFolder(node, file)
            } catch {
                if root.generation == generation { throw error }
            }
            // What reached a folder that is not the store's any more is not saved.
            do throws(StoreError) {
                try root.follow(as: store.name)
            } catch {
                file.state.withLock { $0.requireSave() }
                throw error
            }
            if root.generation == generation { return }
            file.state.withLock { $0.requireSave() }
        }
        throw StoreError(.unstable, "the store's folder keeps being replaced: save it again.")
    }

    private func saveInFolder(_ node: Node, _ file: SecretFile) throws(StoreError) {
        // Renamed while it was encrypted: other recipients may apply there.
        for _ in 0..<16 {
            guard let path = tree.backingPath(of: node) else {
                if try takeNameBack(node, file) { continue }
                file.state.withLock { $0.abandonEdits() }
                return
            }
            guard let snapshot = try file.dirtySnapshot() else { return }
            let version = snapshot.version
            if Store.isRecipientFile(path) {
                return try saveRecipients(snapshot, at: path, file)
            }
            try checkListsAreSaved(for: path)
            let staged = try store.stage(
                snapshot.bytes, for: path, accessed: snapshot.accessed, modified: snapshot.modified)
            let conflict = try namespace.withLock { _ throws(StoreError) -> Placed? in
                guard self.tree.backingPath(of: node) == path else { return nil }
                let folder = try folder(holding: path)
                let kept = try self.keepForeignVersion(at: path, file)
                let placed = try staged.publish(as: path) { status, place in
                    self.isOurs(status, at: place, file, wasMoved: true)
                } keepingOthersAt: { () throws(Errno) in
                    try freeConflictPath(beside: path)
                }
                let replaced = file.state.withLock { state in
                    defer { state.markSaved(version, as: placed.status) }
                    return state.base
                }
                if let replaced, kept == nil, placed.kept == nil { store.forgetSize(of: replaced) }
                parked.remove(path)
                return Placed(
                    folder: folder, file: staged.held(), keptAs: [kept, placed.kept].compactMap(\.self),
                    links: self.settleLinks(to: node))
            }
            guard let conflict else { continue }
            do {
                try conflict.folder.synchronize()
            } catch {
                // It may not survive a power cut: it is not saved yet.
                file.state.withLock { $0.requireSave() }
                throw StoreError(error, "fsync the folder of", path)
            }
            for kept in conflict.keptAs { sink.note(.saved(kept)) }
            sink.note(.saved(path), as: conflict.file)
            tell(conflict.links)
            if store.isForItsRecipients(staged, at: path) { return }
            // Their list changed while it was encrypted.
            file.state.withLock { $0.requireSave() }
        }
        throw StoreError(
            .unstable,
            "the secret is being renamed, or its recipients changed, faster than it can be saved: save it again."
        )
    }

    /// Refuses to open for writing what could not be saved as things are: many programs, shells among them, do not look at
    /// what close(2) says. Who has it open already keeps what it writes.
    func checkCanSave(_ secret: FilePath) throws(Errno) {
        guard !Store.isRecipientFile(secret), let error = whyNotWritten(secret) else { return }
        note(error.message, about: store.visiblePath(of: secret), at: secret, because: .recipients)
        throw Errno(error)
    }

    /// Why a secret is not opened for writing, as things are; nil where it is.
    func whyNotWritten(_ secret: FilePath) -> StoreError? {
        // Where a list is gone nothing may be left that `recipients confirm` could ask about: what waits to be saved is.
        whyNotSaved(secret).flatMap { $0.code == .vanishedRecipientFile ? nil : $0 }
    }

    /// What a save of a secret could only fail with, as things are; nil where it could succeed.
    func whyNotSaved(_ secret: FilePath) -> StoreError? {
        do throws(StoreError) {
            // A folder that has lost its lists, as it was removed, says nothing about the one that has its path now.
            try root.follow(as: store.name)
            try checkListsAreSaved(for: secret)
            try store.checkCanEncrypt(secret)
            return nil
        } catch {
            return error
        }
    }

    private func folder(holding path: FilePath) throws(StoreError) -> ChangedFolder {
        try StoreError.wrapping("open the folder of", path) { () throws(Errno) in
            try root.folder(holding: path)
        }
    }

    /// Refuses while the list that applies, as the mount shows it, could not be saved: what is encrypted by the one on disk may
    /// be for somebody whom the user has just taken out.
    private func checkListsAreSaved(for secret: FilePath) throws(StoreError) {
        for node in failedLists.withLock({ Array($0.values) }) {
            guard let failure = node.secret?.state.withLock({ $0.failure }) else {
                failedLists.withLock { $0[node.inode] = nil }
                continue
            }
            guard let list = tree.backingPath(of: node), Store.isRecipientFile(list),
                secret.starts(with: list.removingLastComponent())
            else { continue }
            // A list between the two is what counts for the secret.
            let nearer = try? store.recipientFile(for: secret)
            if let nearer, nearer != list,
                nearer.removingLastComponent().starts(with: list.removingLastComponent())
            {
                continue
            }
            throw StoreError(
                .badRecipientFile,
                "\(list.string) is not saved, and its recipients are unknown until it is: \(failure.message)"
            )
        }
    }

    private struct Placed {
        var folder: ChangedFolder
        /// git may take it away before it is told.
        var file: Stores.HeldFile?
        var keptAs: [FilePath]
        var links: [Change]
    }

    /// Somebody else put another version in place since ours was read: theirs gets a name beside it, so that
    /// nothing is lost, not even when this is killed. What comes after this look, the exchange keeps. Under the namespace lock.
    private func keepForeignVersion(
        at path: FilePath, _ file: SecretFile
    ) throws(StoreError) -> FilePath? {
        try StoreError.wrapping("keep the other version of", path) { () throws(Errno) in
            guard let disk = try root.statusIfPresent(of: path), !isOurs(disk, at: path, file) else {
                return nil
            }
            let kept = try freeConflictPath(beside: path)
            try root.rename(path, to: kept, flags: .noReplace)
            return kept
        }
    }

    /// Whether a ciphertext is the one that was read, or the same one only encrypted to other recipients meanwhile: nobody's
    /// words are lost with it.
    /// - Parameter wasMoved: we have just renamed it, so that its ctime is another one.
    private func isOurs(
        _ status: FileStatus, at path: FilePath, _ file: SecretFile, wasMoved: Bool = false
    ) -> Bool {
        guard let base = file.state.withLock({ $0.base }) else { return false }
        return (wasMoved ? status.isSameContent(as: base) : status.isUnchanged(since: base))
            || store.isReencryption(of: base.identity, at: path)
    }

    /// Whether what is on disk is what the content was read from, or saved as.
    func hasSeen(_ node: Node, _ file: SecretFile) throws(Errno) -> Bool {
        guard let path = tree.backingPath(of: node), let disk = try root.statusIfPresent(of: path) else {
            return true
        }
        return isOurs(disk, at: path, file)
    }

    /// A name for another version of a secret that nothing has.
    func freeConflictPath(beside path: FilePath) throws(Errno) -> FilePath {
        for attempt in 0..<100 {
            let candidate = ConflictName.path(
                beside: path, at: FileTime.now.seconds, attempt: attempt, isSecret: true)
            if try root.statusIfPresent(of: candidate) == nil { return candidate }
        }
        throw .fileExists
    }
}
