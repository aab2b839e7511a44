import Git
import OpenPGP
import Synchronization
import System
public import SystemPackage

extension Reencryption {
    /// What became of a change that was to be taken back.
    public enum Aborted: Sendable, Equatable {
        /// Everything is as it was before, but for what is listed.
        case undone(Undone)
        /// It was committed already, and only that had not been noted: it stays.
        case wasFinished
    }

    /// What is not as it was before a change that was taken back.
    public struct Undone: Sendable, Equatable {
        /// Secrets that were saved or copied while the change was interrupted, and were encrypted again to the lists in
        /// force.
        public var again: [FilePath] = []
        /// Those of them that the newest commit had for whom the change added.
        public var committed: [FilePath] = []
        /// Secrets that are for whom the change added, and were left so.
        public var left: [FilePath] = []
        /// The `.gpg-id` that others have changed or removed meanwhile; nil where it is as it was.
        public var foreignList: FilePath?
        /// Whether git's stash holds the change.
        public var isStashed = false

        /// Whether nothing is listed.
        public var isComplete: Bool { self == Undone() }
    }

    /// Takes the change back: the old `.gpg-id` and the very ciphertexts from before it, wherever they were renamed to.
    /// What somebody saved or copied meanwhile stays, and is encrypted again where it is for whom only the change adds.
    /// - Parameters:
    ///   - skipsUnreadable: Leave those as they are that cannot be encrypted again.
    ///   - isCommitted: Whether the newest commit has these files as they lie on disk.
    /// - Throws: `unreadableSecrets` when some cannot be encrypted again: everything else is taken back then, and they wait
    ///   for another call.
    public func abort(
        skipsUnreadable: Bool = false, isCommitted: ([FilePath]) throws(StoreError) -> Bool
    ) throws(StoreError) -> Aborted {
        let journal = journal
        var isFinished = journal.phase == .finished
        if journal.phase == .committing, try isInPlace() { isFinished = try isCommitted(changedPaths) }
        if isFinished {
            try enter(.finished)
            try end()
            return .wasFinished
        }
        var undone = Undone()
        if journal.phase != .staging {
            if journal.phase != .aborting { try takeBack() }
            undone.foreignList = try foreignList()
            undone.isStashed = isStashed()
            try encryptAgain(&undone, skipsUnreadable: skipsUnreadable, isCommitted: isCommitted)
            // From here on there is nothing to resume.
            try enter(.finished)
        }
        try end()
        return .undone(undone)
    }

    /// Whether the change is what lies in the store now: git may have put back what was there before.
    private func isInPlace() throws(StoreError) -> Bool {
        if let folder = journal.folder {
            let new = try notes.read(ChangeJournal.newFile)
            if try notes.read(ChangeJournal.oldFile) != new {
                return try current(folder.appending(Store.recipientFileName)) == new
            }
        }
        let recipients = try? newRecipients()
        return journal.secrets.enumerated().contains { index, secret in
            guard let content = try? store.contentIdentity(of: secret) else { return false }
            if state.withLock({ $0.staged[index]?.new }) == content { return true }
            guard let targets = (recipients ?? nil) ?? (try? store.list(for: secret))?.recipients else {
                return false
            }
            return (try? store.match(secret, targets)).map { $0 != .different } ?? false
        }
    }

    private func takeBack() throws(StoreError) {
        let journal = journal
        if let folder = journal.folder { try restoreRecipientFile(folder) }
        let secrets = journal.secrets
        for (index, secret) in secrets.enumerated() {
            guard let name = state.withLock({ $0.staged[index] }) else { continue }
            try StoreError.wrapping("put back", secret) { try takeBack(name, from: secret) }
        }
        try synchronizeFolders(of: secrets + takeBackRenamed())
        if let folder = journal.folder { try? withdrawAgreement(folder) }
        try enter(.aborting)
        FaultPoint.mayDie("recipients.aborting")
    }

    /// Ciphertexts of the change that have another name by now go back, too.
    private func takeBackRenamed() throws(StoreError) -> [FilePath] {
        let staged = state.withLock { Array($0.staged.values) }
        let names = Dictionary(staged.map { ($0.new.text, $0) }, uniquingKeysWith: { $1 })
        var found: [FilePath] = []
        for secret in try store.secrets(below: FilePath(), nested: true) {
            do throws(Errno) {
                guard let status = try store.root.statusIfPresent(of: secret),
                    let name = names[ContentIdentity(status.identity).text]
                else { continue }
                try takeBack(name, from: secret)
                found.append(secret)
            } catch .noSuchFileOrDirectory {
                // Renamed once more: then it is encrypted again.
            } catch {
                throw StoreError(error, "put back", secret)
            }
        }
        return found
    }

    /// The keys that were agreed to for this change are so no longer; others that wait to be agreed to wait on.
    private func withdrawAgreement(_ folder: FilePath) throws(StoreError) {
        let accepted = journal.accepted.compactMap { Fingerprint($0) }
        try store.withdraw(Set(accepted), in: folder.appending(Store.recipientFileName))
    }

    private func restoreRecipientFile(_ folder: FilePath) throws(StoreError) {
        let place = folder.appending(Store.recipientFileName)
        // Somebody else's change is not ours to take back; that it is missing is nobody's list.
        let now = try current(place)
        let lists = [try notes.read(ChangeJournal.newFile), try notes.read(ChangeJournal.oldFile)]
        let isOurs = lists.contains(now)
        let isFolder = ((try? store.root.statusIfPresent(of: folder)) ?? nil)?.kind == .directory
        guard isOurs || now == nil && isFolder && !isRemoved(place) else { return }
        try put(try notes.read(ChangeJournal.oldSignature), at: folder.appending(Store.signatureFileName))
        try put(try notes.read(ChangeJournal.oldFile), at: place)
    }

    /// The bytes of a list; empty where it is no file that could be read.
    private func current(_ place: FilePath) throws(StoreError) -> [UInt8]? {
        guard let status = (try? store.root.statusIfPresent(of: place)) ?? nil else { return nil }
        return status.kind == .regular ? try store.readIfPresent(place) : []
    }

    /// The list of the change, where it is not the one from before it.
    private func foreignList() throws(StoreError) -> FilePath? {
        guard let place = journal.folder?.appending(Store.recipientFileName) else { return nil }
        let old = try notes.read(ChangeJournal.oldFile)
        return try current(place) == old ? nil : place
    }

    /// Whether a list that is not there is not in the newest commit either: then somebody has removed it for good.
    private func isRemoved(_ place: FilePath) -> Bool {
        guard let found = repository(of: place),
            case .branch(_, _, let commit?)? = try? found.repository.head()
        else { return false }
        return ((try? found.repository.blobID(at: found.path, in: commit)) ?? nil) == nil
    }

    /// Whether git's stash holds the list of the change, which `git stash pop` would bring back.
    private func isStashed() -> Bool {
        guard let place = journal.folder?.appending(Store.recipientFileName),
            let new = (try? notes.read(ChangeJournal.newFile)) ?? nil,
            (try? notes.read(ChangeJournal.oldFile)) != new,
            let found = repository(of: place), let blob = try? Repository.blobID(of: new)
        else { return false }
        return found.repository.reflog(of: "refs/stash").contains { line in
            ((try? found.repository.blobID(at: found.path, in: line.new)) ?? nil) == blob
        }
    }

    /// The repository of a file, and its path there.
    private func repository(of file: FilePath) -> (repository: Repository, path: FilePath)? {
        guard let top = store.repositories.around(file),
            let repository = (try? store.repositories.open(top)) ?? nil
        else { return nil }
        var path = file
        return top.isEmpty || path.removePrefix(top) ? (repository, path) : nil
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
