import Glibc
import OpenPGP
import Synchronization
import System
import SystemPackage

extension Reencryption {
    /// Encrypts every secret that is not staged yet; throws, with nothing changed outside the staging folder, when
    /// one cannot be.
    func stageAll(
        threads: Int, cancellation: Cancellation?, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(StoreError) {
        let recipients = try newRecipients()
        let secrets = journal.secrets
        let waiting = state.withLock { state in
            state.done = state.staged.count
            state.failure = nil
            state.unreadable = [:]
            return secrets.indices.filter { state.staged[$0] == nil }
        }
        progress(Progress(step: .encrypting, done: secrets.count - waiting.count, total: secrets.count))
        Workers.forEach(waiting.count, threads: threads) { position in
            guard self.state.withLock({ $0.failure == nil }) else { return }
            self.stageInTurn(waiting[position], recipients, cancellation)
            let done = self.state.withLock { state in
                state.done += 1
                return state.done
            }
            progress(Progress(step: .encrypting, done: done, total: secrets.count))
        }
        let (failure, unreadable) = state.withLock { ($0.failure, $0.unreadable) }
        if let failure { throw failure }
        if !unreadable.isEmpty, !journal.skipsUnreadable {
            throw .unreadable(unreadable.keys.sorted { $0.string < $1.string })
        }
        try notes.synchronizeStaged()
        try StoreError.wrapping("fsync", StagingFolder.path) {
            try store.root.synchronizeParent(of: StagingFolder.file("any"))
        }
    }

    private func stageInTurn(_ index: Int, _ recipients: [Recipient]?, _ cancellation: Cancellation?) {
        do {
            try stage(index, recipients, cancellation, isDurable: false)
        } catch {
            state.withLock { state in
                switch error.code {
                // The secret's own trouble: look whether others have it, too, and tell of all at once.
                case .openPGP(.noSecretKey), .openPGP(.corrupt), .openPGP(.notEncrypted), .tooLarge:
                    state.unreadable[state.journal.planned[index].path] = error
                default: if state.failure == nil { state.failure = error }
                }
            }
        }
    }

    /// Encrypts a secret as it is now and makes the ciphertext durable in the staging folder. A secret that is gone
    /// has nothing to stage.
    ///
    /// It is noted before it has its name. `isDurable` waits until the note is on the disk, too.
    func stage(
        _ index: Int, _ recipients: [Recipient]?, _ cancellation: Cancellation?, isDurable: Bool
    ) throws(StoreError) {
        let planned = journal.planned[index]
        let secret = planned.path
        let plaintext: Plaintext
        do {
            plaintext = try store.plaintext(of: secret, cancellation: cancellation)
        } catch  where error.code == .system(.noSuchFileOrDirectory) {
            return
        }
        guard try isToBeStaged(secret, ContentIdentity(plaintext.status.identity), planned) else { return }
        let targets = try self.recipients(for: secret, planned, recipients)
        let ciphertext = try StoreError.wrapping {
            try store.engine.encrypt(plaintext.bytes, to: targets, trust: store.options.trust)
        }
        let part = StagingFolder.file("part-\(index)")
        try StoreError.wrapping("write the new ciphertext of", secret) {
            let root = store.root
            let file = try staging.create(part)
            ReencryptionMark.set(on: file.raw, replacing: plaintext.status.identity, of: secret, in: root)
            // The content is the same: so are its times.
            try file.writeDurably(
                ciphertext, accessed: plaintext.status.accessed, modified: plaintext.status.identity.modified)
            let name = StagedName(
                index: index, old: ContentIdentity(plaintext.status.identity),
                new: ContentIdentity(try file.status().identity))
            try notes.note(name, isDurable: isDurable)
            try root.rename(part, to: name.path)
            state.withLock { $0.staged[index] = name }
        }
    }

    /// Whether a ciphertext is what the user was asked about, or was saved here since. What git brought is not encrypted to
    /// keys that it may be new to: others could move any secret to where a change is being made.
    private func isToBeStaged(
        _ secret: FilePath, _ content: ContentIdentity, _ planned: PlannedSecret
    ) throws(StoreError) -> Bool {
        if content == planned.content { return true }
        // Of one that has changed once more the next look decides.
        guard let isBrought = try brought.include(secret, content) else { return false }
        state.withLock { state in
            if isBrought { state.left.insert(secret) } else { state.left.remove(secret) }
        }
        return !isBrought
    }
}
