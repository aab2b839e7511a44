import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// Renames a secret or a scratch file. Returns false when what was looked at has changed.
    func renameSecret(_ move: Move) throws(Errno) -> Bool {
        guard let file = beginHandle(move.node) else { throw .staleNFSFileHandle }
        defer { endHandle(move.node, file) }
        if Store.isRecipientFile(move.source), !move.isToScratch { throw .notPermitted }
        if Store.isRecipientFile(move.destination), !move.isToScratch, !unpark(move, file) {
            return try renameToRecipients(move, file)
        }
        let (isScratch, isDirty) = file.state.withLock { ($0.isScratch, $0.isDirty) }
        switch (isScratch, move.isToScratch) {
        case (true, true): return renameInMemory(move)
        case (true, false): return try promote(move, file)
        case (false, true): return try demote(move, file)
        case (false, false):
            if isDirty { return try renameUnsaved(move, file) }
            if try haveSameRecipients(move.source, move.destination) {
                return try renameOnDisk(move)
            }
            try loadWithoutAsking(move.node, file)
            return try encryptAtDestination(move, file)
        }
    }

    /// A secret gets the name of a scratch file, as an editor's backup. Its content goes on in memory; its ciphertext
    /// stays on disk, parked, until a new one takes its place or the grace time is over.
    private func demote(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        try loadWithoutAsking(move.node, file)
        // The version that lies on disk as it is; nil when edits came since.
        let onDisk = try file.state.withLock { (state) throws(Errno) in
            try state.checkLoaded()
            let onDisk = state.isDirty ? nil : state.version
            state.isScratch = true
            do throws(Errno) {
                try file.takeScratchMemory(for: state.count, &state)
            } catch {
                state.isScratch = false
                throw error
            }
            return onDisk
        }
        keepScratch(move.node)
        let isDone = namespace.withLock { _ in
            guard stands(move) else { return false }
            settle(move)
            if let status = move.sourceStatus {
                parked.add(move.source, status, grace: mount.options.grace)
                file.state.withLock { state in state.origin = onDisk.map { (move.source, $0) } }
            }
            return true
        }
        guard isDone else {
            file.state.withLock { $0.isScratch = false }
            file.returnScratchMemory()
            endScratch(move.node)
            return false
        }
        unmarkIfSaved(move.node, file)
        if move.sourceStatus != nil { scheduleExpiry() }
        return true
    }

    /// A scratch file gets the name of a secret: it is encrypted right now, and the errors of that are rename's.
    ///
    /// It stays one until it has the name: whoever closes or syncs it meanwhile must not save it under the old one.
    private func promote(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        if unpark(move, file) { return true }
        defer {
            if file.state.withLock({ !$0.isScratch }) {
                file.returnScratchMemory()
                endScratch(move.node)
            }
        }
        return try renameUnsaved(move, file)
    }

    /// An editor takes its backup back: the ciphertext is still there and nothing was written.
    private func unpark(_ move: Move, _ file: SecretFile) -> Bool {
        let isBack = namespace.withLock { _ in
            guard stands(move), let status = parked.status(at: move.destination) else {
                return false
            }
            let isUntouched = file.state.withLock { state in
                guard let origin = state.origin, origin.path == move.destination,
                    origin.version == state.version
                else { return false }
                state.isScratch = false
                state.origin = nil
                state.base = status
                state.abandonEdits()
                return true
            }
            if isUntouched { settle(move) }
            return isUntouched
        }
        if isBack {
            file.returnScratchMemory()
            endScratch(move.node)
        }
        return isBack
    }

    /// The secret has edits that are not on disk: they are encrypted for the new place right now.
    private func renameUnsaved(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        // One handle is this rename's own.
        let isEmptyAndOpen = file.state.withLock { state in
            state.isOnlyTruncated && state.base == nil && state.handles > 1
        }
        // A link that it replaces would go on being shown.
        guard isEmptyAndOpen, move.replaced?.kind != .symbolicLink else {
            return try encryptAtDestination(move, file)
        }
        // Made a moment ago and still to be written: it is saved under its new name when it is closed.
        let isDone = namespace.withLock { _ in
            guard stands(move) else { return false }
            settle(move)
            file.state.withLock { state in
                state.base = move.replacedStatus
                state.isScratch = false
            }
            return true
        }
        if isDone { markDirty(move.node) }
        return isDone
    }

    /// Writes the content to the new place, encrypted to who may read there, then removes the old file. A crash in
    /// between leaves both.
    private func encryptAtDestination(_ move: Move, _ file: SecretFile) throws(Errno) -> Bool {
        let done: DoneMove?
        do throws(StoreError) {
            done = try file.saving.withLock { _ throws(StoreError) -> DoneMove? in
                let snapshot = try file.snapshot()
                // What was a secret, became a backup and was not edited since has the time of the secret.
                let unedited = move.sourceStatus ?? file.state.withLock { $0.base }
                let staged = try store.stage(
                    snapshot.bytes, for: move.destination, accessed: snapshot.accessed,
                    modified: snapshot.modified ?? unedited?.identity.modified)
                let done = try self.place(staged, move, file, version: snapshot.version)
                guard done != nil else { return nil }
                if !store.isForItsRecipients(staged, at: move.destination) {
                    file.state.withLock { $0.requireSave() }
                }
                return done
            }
        } catch {
            let errno = Errno(error)
            file.state.withLock { state in
                guard state.isDirty, move.sourceStatus != nil else { return }
                state.failure = SecretFile.Failure(
                    errno: errno, message: error.message, since: state.failure?.since ?? .now)
            }
            throw errno
        }
        guard let done else { return false }
        unmarkIfSaved(move.node, file)
        try done.synchronize()
        sink.note(
            move.sourceStatus == nil
                ? .saved(move.destination) : .renamed(from: move.source, to: move.destination))
        if let path = move.superseded { sink.note(.removed(path)) }
        tell(done.links)
        if file.state.withLock({ $0.isDirty }) {
            // The recipients changed meanwhile. The rename is done; a failure is kept for `status`.
            markDirty(move.node)
            try? save(move.node, file)
        }
        return true
    }

    private func place(
        _ staged: StagedSecret, _ move: Move, _ file: SecretFile, version: UInt64
    ) throws(StoreError) -> DoneMove? {
        try namespace.withLock { _ throws(StoreError) in
            guard self.stands(move) else { return nil }
            let folders = try StoreError.wrapping("open the folder of", move.destination) {
                () throws(Errno) in try changedFolders(move)
            }
            let status = try staged.publish(as: move.destination)
            try StoreError.wrapping("remove", move.source) { () throws(Errno) in
                if move.sourceStatus != nil {
                    // The new name must survive a power cut before the old one is gone.
                    try folders.first?.synchronize()
                    try root.unlink(move.source)
                }
                try removeSuperseded(move)
            }
            self.settle(move)
            file.state.withLock { state in
                state.markSaved(version, as: status)
                state.isScratch = false
            }
            return DoneMove(links: self.settleLinks(of: move), folders: folders)
        }
    }

    /// Whether who may read a secret is the same at two places.
    func haveSameRecipients(_ one: FilePath, _ other: FilePath) throws(Errno) -> Bool {
        if one.removingLastComponent() == other.removingLastComponent() { return true }
        let files = ((try? store.recipientFile(for: one)), (try? store.recipientFile(for: other)))
        if files.0 == files.1 { return true }
        return try Errno.catching { () throws(StoreError) in
            let lists = (try store.recipients(for: one), try store.recipients(for: other))
            return Set(lists.0.recipients.map(\.encryptionTarget))
                == Set(lists.1.recipients.map(\.encryptionTarget))
        }
    }
}

extension Recipient {
    /// What gpg encrypts to: two recipients are the same when this is.
    fileprivate var encryptionTarget: String {
        "\(key.fingerprint) \(subkey.map(\.description) ?? "")"
    }
}
