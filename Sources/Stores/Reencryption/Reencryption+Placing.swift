import Glibc
import OpenPGP
import Synchronization
import SystemPackage

extension Reencryption {
    /// Puts every staged secret in place, then the `.gpg-id`, then does the same for secrets that were saved to the
    /// old recipients meanwhile.
    func placeAll(_ progress: @escaping @Sendable (Progress) -> Void) throws(StoreError) {
        let recipients = try newRecipients()
        // Encrypting may have taken long, and waited for passphrases.
        if let folder = journal.folder { try checkUnchanged(folder.appending(Store.recipientFileName)) }
        var position = 0
        while position < journal.planned.count {
            try place(position, recipients)
            position += 1
            if position == 1 { FaultPoint.mayDie("recipients.placed-one") }
            progress(Progress(step: .placing, done: position, total: journal.planned.count))
        }
        try synchronizeFolders(of: journal.secrets)
        guard let folder = journal.folder, let recipients else { return }
        try placeRecipientFile(folder, recipients)
        for _ in 0..<3 {
            let late = try lateSecrets()
            if late.isEmpty { return }
            try noteFormer(late, recipients)
            let count = try append(late.map { PlannedSecret(path: $0) })
            for index in count..<(count + late.count) { try place(index, recipients) }
            try synchronizeFolders(of: late)
        }
    }

    /// Secrets that are not for the new recipients although everything is in place: saved by somebody meanwhile. What
    /// git brought is left alone.
    func lateSecrets() throws(StoreError) -> [FilePath] {
        guard let folder = journal.folder, let recipients = try newRecipients() else { return [] }
        let given = state.withLock { Set($0.unreadable.keys) }
        let different = try store.secrets(below: folder, nested: false).picking {
            (secret) throws(StoreError) in
            if given.contains(secret) { return false }
            return try self.isDifferent(secret, recipients)
        }
        let saved = try different.picking { (secret) throws(StoreError) in try !self.isBrought(secret) }
        state.withLock { $0.left = Set(different).subtracting(saved) }
        let unreadable = Set(try store.unreadable(saved))
        return saved.filter { !unreadable.contains($0) }
    }

    private func isBrought(_ secret: FilePath) throws(StoreError) -> Bool {
        guard let content = try store.contentIdentity(of: secret) else { return false }
        // Of one that changes at this moment the next look decides, that of staging at the latest.
        return try brought.include(secret, content) ?? false
    }

    private func isDifferent(_ secret: FilePath, _ recipients: [Recipient]) throws(StoreError) -> Bool {
        do {
            return try store.match(secret, recipients) == .different
        } catch  where error.code == .system(.noSuchFileOrDirectory) {
            return false
        }
    }

    /// More secrets for the journal; gives the index of the first.
    func append(_ secrets: [PlannedSecret]) throws(StoreError) -> Int {
        let (count, next) = state.withLock { state in
            let count = state.journal.planned.count
            state.journal.planned += secrets
            return (count, state.journal)
        }
        try notes.write(next.bytes, as: ChangeJournal.name)
        return count
    }

    /// Puts one secret in place. One that changed since it was staged, or was never staged, is staged now.
    func place(_ index: Int, _ recipients: [Recipient]?) throws(StoreError) {
        let secret = journal.planned[index].path
        for _ in 0..<16 {
            if let name = state.withLock({ $0.staged[index] }) {
                do {
                    switch try swap(name, with: secret) {
                    case .done: return
                    case .changed:
                        try store.root.unlink(name.path)
                        state.withLock { $0.staged[index] = nil }
                    }
                } catch {
                    throw StoreError(error, "put in place", secret)
                }
            }
            guard try mustStage(index, secret, recipients) else { return }
        }
        throw StoreError(
            .unstable, "\(secret.string) changes faster than it can be encrypted: resume the change.")
    }

    /// Stages a secret in the middle of placing; false when it is gone or to be left alone.
    private func mustStage(
        _ index: Int, _ secret: FilePath, _ recipients: [Recipient]?
    ) throws(StoreError) -> Bool {
        do {
            let targets = try self.recipients(for: secret, journal.planned[index], recipients)
            guard try store.match(secret, targets) != .same else { return false }
            try stage(index, recipients, nil, isDurable: true)
            return state.withLock { $0.staged[index] != nil }
        } catch {
            if error.code == .system(.noSuchFileOrDirectory) { return false }
            guard journal.skipsUnreadable else { throw error }
            state.withLock { $0.unreadable[secret] = error }
            return false
        }
    }

    private enum Swap { case done, changed }

    /// Swaps a staged secret with the one in place, if that is still the one it was made from.
    ///
    /// Other programs take no lock, so that the swap comes first and the look second: what came out tells whether
    /// somebody had saved in between; theirs then goes back.
    private func swap(_ name: StagedName, with secret: FilePath) throws(Errno) -> Swap {
        let root = store.root
        let held = try identity(name.path)
        // Done before an interruption.
        if held == name.old { return .done }
        if held != name.new { return try returnForeign(name, to: secret) }
        guard let current = try root.statusIfPresent(of: secret),
            ContentIdentity(current.identity) == name.old
        else { return .changed }
        do throws(Errno) {
            try root.rename(name.path, to: secret, flags: .exchange)
        } catch .noSuchFileOrDirectory {
            return .changed
        }
        var put = name.new
        var out = try identity(name.path)
        if out == name.old { return .done }
        while true {
            do throws(Errno) {
                try root.rename(name.path, to: secret, flags: .exchange)
            } catch .noSuchFileOrDirectory {
                // Removed after it was saved: it stays removed.
                return .changed
            }
            let came = try identity(name.path)
            if came == put { return .changed }
            // Saved once more in between: that one is newer than what was just put back.
            put = out
            out = came
        }
    }

    /// Killed between the two halves of a swap: what came out was somebody's newer save, and goes back.
    private func returnForeign(_ name: StagedName, to secret: FilePath) throws(Errno) -> Swap {
        if let current = try store.root.statusIfPresent(of: secret),
            ContentIdentity(current.identity) == name.new
        {
            try store.root.rename(name.path, to: secret, flags: .exchange)
        }
        return .changed
    }

    func identity(_ path: FilePath) throws(Errno) -> ContentIdentity {
        ContentIdentity(try store.root.status(of: path).identity)
    }

    func synchronizeFolders(of secrets: [FilePath]) throws(StoreError) {
        var seen: Set<FilePath> = []
        for secret in secrets where seen.insert(secret.removingLastComponent()).inserted {
            do {
                try store.root.synchronizeParent(of: secret)
            } catch .noSuchFileOrDirectory {
                // Removed by somebody meanwhile, with the secret.
            } catch {
                throw StoreError(error, "fsync the folder of", secret)
            }
        }
    }

    /// Puts the new `.gpg-id` in force, its signature first: the old one fails with it, the new one holds.
    private func placeRecipientFile(_ folder: FilePath, _ recipients: [Recipient]) throws(StoreError) {
        let place = folder.appending(Store.recipientFileName)
        let new = try notes.read(ChangeJournal.newFile)
        try checkUnchanged(place)
        try store.agree(toAlso: recipients, in: place)
        try put(try notes.read(ChangeJournal.newSignature), at: folder.appending(Store.signatureFileName))
        try put(new, at: place)
    }

    /// Replaces a small file, or removes it.
    func put(_ bytes: [UInt8]?, at place: FilePath) throws(StoreError) {
        guard try store.readIfPresent(place) != bytes else { return }
        try StoreError.wrapping("put in place", place) {
            if let bytes {
                try staging.write(bytes, as: "put")
                try store.root.rename(StagingFolder.file("put"), to: place)
            } else {
                try store.root.unlink(place)
            }
            try store.root.synchronizeParent(of: place)
        }
    }
}
