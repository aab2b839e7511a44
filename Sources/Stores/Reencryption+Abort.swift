import OpenPGP
import Synchronization
import SystemPackage

extension Reencryption {
    /// What became of a change that was to be taken back.
    public enum Aborted: Sendable, Equatable {
        /// Everything is as it was before.
        case undone
        /// It was committed already, and only that had not been noted: it stays.
        case wasFinished
    }

    /// Takes the change back: the old `.gpg-id` and the very ciphertexts from before it. What somebody saved
    /// meanwhile stays.
    /// - Parameter isCommitted: Whether the newest commit has these files as they lie on disk.
    public func abort(isCommitted: ([FilePath]) throws(StoreError) -> Bool) throws(StoreError) -> Aborted {
        let journal = journal
        var isFinished = journal.phase == .finished
        if journal.phase == .committing { isFinished = try isCommitted(changedPaths) }
        if isFinished {
            try enter(.finished)
            try end()
            return .wasFinished
        }
        if journal.phase != .staging {
            if let folder = journal.folder { try restoreRecipientFile(folder) }
            for index in journal.secrets.indices {
                guard let name = state.withLock({ $0.staged[index] }) else { continue }
                do {
                    try takeBack(name, from: journal.secrets[index])
                } catch {
                    throw StoreError(error, "put back", journal.secrets[index])
                }
            }
            try synchronizeFolders(of: journal.secrets)
            if let folder = journal.folder { try? withdrawAgreement(folder) }
            // From here on there is nothing to resume.
            try enter(.finished)
        }
        try end()
        return .undone
    }

    /// The keys that were agreed to for this change are so no longer; others that wait to be agreed to wait on.
    private func withdrawAgreement(_ folder: FilePath) throws(StoreError) {
        let accepted = journal.accepted.compactMap { Fingerprint($0) }
        try store.withdraw(Set(accepted), in: folder.appending(Store.recipientFileName))
    }

    private func restoreRecipientFile(_ folder: FilePath) throws(StoreError) {
        let place = folder.appending(Store.recipientFileName)
        // Somebody else's change is not ours to take back.
        let new = try notes.read(ChangeJournal.newFile)
        guard try store.readIfPresent(place) == new else { return }
        try put(try notes.read(ChangeJournal.oldSignature), at: folder.appending(Store.signatureFileName))
        try put(try notes.read(ChangeJournal.oldFile), at: place)
    }

    private func takeBack(_ name: StagedName, from secret: FilePath) throws(Errno) {
        let root = store.root
        // What lies there is the old ciphertext, or what somebody saved and a swap that was killed has taken out.
        guard try identity(name.path) != name.new, let current = try root.statusIfPresent(of: secret),
            ContentIdentity(current.identity) == name.new
        else { return }
        try root.rename(name.path, to: secret, flags: .exchange)
        guard try identity(name.path) != name.new else { return }
        // Saved in the moment between: that is newer than the old one.
        try root.rename(name.path, to: secret, flags: .exchange)
    }
}
