import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// What git put back although it was saved through the mount a moment before.
extension CommitWriter {
    /// What a reference to a secret that was put back, and that may not be pushed, begins with; its blob's name follows.
    private static let asideRefs = "refs/passdir/taken-back/"

    /// Makes conflict files of the secrets of a batch that git has replaced by older ones, or taken away. What another
    /// program has written in their place, or removed, is that program's to judge.
    /// - Parameter wasDisturbed: whether others changed something while the batch was committed.
    func keepWhatWasTakenBack(
        _ part: RepositoryPart, _ batch: PendingChanges, wasDisturbed: Bool
    ) throws(GitError) {
        guard UnfinishedChange(of: store) == nil, let tip = try part.repository.commit(at: "HEAD") else {
            return
        }
        var kept: [FilePath] = []
        for path in part.paths {
            let name = part.inStore(path)
            // What was done through the mount since is no doing of git's.
            guard let saved = batch.saved[name],
                (try? store.root.status(of: name))?.identity != saved.identity,
                !state.withLock({ $0.pending.touches(name) }),
                let bytes = saved.content.bytes(limit: store.options.ciphertextLimit),
                try isTakenBack(saved, bytes, at: path, tip, wasDisturbed: wasDisturbed, part)
            else { continue }
            let blob = try part.repository.writeBlob(bytes)
            if saved.recipients == state.recipients(at: name) {
                kept.append(try keep(TreeItem(id: blob, kind: .file), beside: path, part))
            } else {
                try putAside(blob, of: path, part)
            }
        }
        tellOfTakenBack(kept)
    }

    /// Keeps what is encrypted to those for whom the secret is no longer: in this repository only, as it is not to be pushed.
    private func putAside(_ blob: ObjectID, of path: FilePath, _ part: RepositoryPart) throws(GitError) {
        try part.repository.set(Self.asideRefs + blob.hex, to: blob)
        let sentence =
            "git reverted what was saved to \(part.inStore(path)) before it was committed, and its recipients "
            + "have changed: git -C "
            + "\(ShellWord.quoted(part.top.string)) cat-file blob \(Self.asideRefs)\(blob.hex) | gpg -d shows "
            + "what was saved."
        state.tell(sentence)
    }

    /// Whether git has put another version in the place of what was saved, or nothing, and nothing else has that.
    private func isTakenBack(
        _ saved: SavedCiphertexts.Saved, _ bytes: [UInt8], at path: FilePath, _ tip: ObjectID,
        wasDisturbed: Bool, _ part: RepositoryPart
    ) throws(GitError) -> Bool {
        let (repository, name) = (part.repository, part.inStore(path))
        let now = try? store.content(of: name, limit: store.options.ciphertextLimit).bytes
        guard now != bytes, !store.isReencryption(of: saved.identity, at: name) else { return false }
        if let now {
            let item = TreeItem(id: try Repository.blobID(of: now), kind: .file)
            let older = try repository.log(from: saved.head, limit: 50).map(\.id)
            // An older one may have been encrypted to others since.
            if try !repository.has(item, at: path, inOneOf: older), !store.isReencryption(at: name),
                try !isBrought(item, at: path, since: saved.head, repository)
            {
                return false
            }
        } else if try !isBrought(nil, at: path, since: saved.head, repository),
            !(wasDisturbed && tip == saved.head), try repository.isAncestor(saved.head, of: tip)
        {
            // Whoever removes a secret means it, but for a stash, which takes seconds at most, and for a reset to where
            // the branch was, when we had put the secret into the index already.
            guard try hasStash(since: saved.time - 5, repository) else { return false }
        }
        return try isNowhere(saved, bytes, at: path, tip, part)
    }

    /// Whether a stash was made, or popped, at a time or later. Of one that was popped only that is left which the watch over the
    /// branch has told.
    private func hasStash(since time: Int64, _ repository: Repository) throws(GitError) -> Bool {
        if let stash = try repository.stashes().first,
            try repository.commitInfo(stash).committer.time >= time
        {
            return true
        }
        return state.withLock { $0.lastStash ?? .min } >= time
    }

    /// Whether HEAD went since to a commit that was made elsewhere, or before, and that has this where the one before it had
    /// something else: `git pull`, `reset` and `switch` looked at the secret before it was saved, or were told not to look.
    /// What somebody commits here was put there by that program, and our own merges write over nothing.
    private func isBrought(
        _ item: TreeItem?, at path: FilePath, since head: ObjectID, _ repository: Repository
    ) throws(GitError) -> Bool {
        for line in repository.reflog(of: "HEAD").prefix(100) where line.old != line.new {
            // So it came to where it was at the save.
            if line.new == head { return false }
            if !line.message.hasPrefix("commit"), !line.message.hasPrefix("passdir "),
                repository.has(line.old), repository.has(line.new),
                try repository.item(at: path, in: line.new)?.id == item?.id,
                try repository.item(at: path, in: line.old)?.id != item?.id
            {
                return true
            }
            if line.old == head { return false }
        }
        return false
    }

    /// The newest commits of the other branches: who switches to another one leaves what was saved on the first.
    private func otherBranches(_ tip: ObjectID, _ repository: Repository) throws(GitError) -> [ObjectID] {
        let tips = try repository.namedTips().filter { $0.name.hasPrefix("refs/heads/") }.map(\.target)
        return Array(Set(tips).subtracting([tip]))
    }

    private func isOnABranch(
        _ commit: ObjectID, _ tip: ObjectID, _ repository: Repository
    ) throws(GitError) -> Bool {
        for branch in try [tip] + otherBranches(tip, repository)
        where try repository.isAncestor(commit, of: branch) {
            return true
        }
        return false
    }

    /// Whether no commit since has what was saved, no stash, and no other file.
    private func isNowhere(
        _ saved: SavedCiphertexts.Saved, _ bytes: [UInt8], at path: FilePath, _ tip: ObjectID,
        _ part: RepositoryPart
    ) throws(GitError) -> Bool {
        let repository = part.repository
        let item = TreeItem(id: try Repository.blobID(of: bytes), kind: .file)
        for branch in try [tip] + otherBranches(tip, repository) {
            let since = try repository.log(from: branch, hiding: [saved.head], limit: 1000).map(\.id)
            if try repository.has(item, at: path, inOneOf: since) { return false }
        }
        return try !isElsewhere(item, saved.head, [tip] + repository.stashes(), part)
    }

    /// Makes conflict files of the secrets of a commit that a reset of the user's has taken out of the branch without
    /// having seen it.
    func keepWhatWasReset(_ commit: ObjectID, since parent: ObjectID) {
        do throws(GitError) {
            guard let part = try state.ownRepository() else { return }
            state.waitForQuiet(in: part.top)
            let repository = part.repository
            guard unfinished(part) == nil, case .branch(_, _, let tip?) = try repository.head(),
                try !isOnABranch(commit, tip, repository)
            else { return }
            var kept: [FilePath] = []
            let changes = try repository.differences(from: parent, to: commit)
            // A change of recipients: what it re-encrypted is for others than the list that applies again.
            let isForOthers = changes.contains { Store.isRecipientFile($0.path) }
            for change in changes {
                guard let saved = change.new, change.path.isSecretName,
                    try !repository.plannedTree(parent: commit, paths: [change.path]).changes.isEmpty,
                    try !isElsewhere(saved, parent, [tip] + repository.stashes(), part)
                else { continue }
                if isForOthers {
                    try putAside(saved.id, of: change.path, part)
                } else {
                    kept.append(try keep(saved, beside: change.path, part))
                }
            }
            tellOfTakenBack(kept)
        } catch {
            log.warning("cannot look for what a reset removed from the branch: \(error.message)")
        }
    }
}
