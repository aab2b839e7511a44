import Git
import Glibc
import Logging
import Stores
import Synchronization
import System
import SystemPackage

/// What git put back although it was saved through the mount a moment before.
extension Committer {
    /// What a reference to a secret that was put back, and that may not be pushed, begins with; its blob's name follows.
    private static let asideRefs = "refs/passdir/taken-back/"

    /// What was saved at a path just now; nil for what is no secret, lies there no more, or is the first of a repository.
    nonisolated func saved(_ change: Change) -> SavedCiphertexts.Saved? {
        guard case .saved(let path) = change, path.isSecretName,
            let top = store.repositories.around(path), let share = try? repository(at: top),
            let head = try? share.repository.commit(at: "HEAD"),
            let file = try? store.hold(path), file.status.kind == .regular
        else { return nil }
        var content = SavedCiphertexts.Content.file(file)
        if file.status.identity.size <= SavedCiphertexts.Content.small,
            let bytes = file.content(limit: SavedCiphertexts.Content.small)
        {
            content = .bytes(bytes)
        }
        return SavedCiphertexts.Saved(
            content: content, identity: file.status.identity, head: head, recipients: recipients(at: path),
            time: Int64(time(nil)))
    }

    /// The lines of the `.gpg-id` that applies to a secret; none where that cannot be told.
    private nonisolated func recipients(at path: FilePath) -> [String] {
        guard store.options.recipientOverride == nil, let file = try? store.recipientFile(for: path) else {
            return []
        }
        return (try? store.recipientFileContent(file, isVerified: false).lines) ?? []
    }

    /// Makes conflict files of the secrets of a batch that git has replaced by older ones, or taken away. What another
    /// program has written in their place, or removed, is that program's to judge.
    /// - Parameter wasDisturbed: whether others changed something while the batch was committed.
    func keepWhatWasTakenBack(
        _ share: Share, _ batch: PendingChanges, wasDisturbed: Bool
    ) throws(GitError) {
        guard UnfinishedChange(of: store) == nil, let tip = try share.repository.commit(at: "HEAD") else {
            return
        }
        var kept: [FilePath] = []
        for path in share.paths {
            let name = share.inStore(path)
            // What was done through the mount since is no doing of git's.
            guard let saved = batch.saved[name],
                (try? store.root.status(of: name))?.identity != saved.identity,
                !shared.withLock({ $0.pending.touches(name) }),
                let bytes = saved.content.bytes(limit: store.options.ciphertextLimit),
                try isTakenBack(saved, bytes, at: path, tip, wasDisturbed: wasDisturbed, share)
            else { continue }
            let blob = try share.repository.writeBlob(bytes)
            if saved.recipients == recipients(at: name) {
                kept.append(try keep(TreeItem(id: blob, kind: .file), beside: path, share))
            } else {
                try putAside(blob, of: path, share)
            }
        }
        tellOfTakenBack(kept)
    }

    /// Keeps what is encrypted to those for whom the secret is no longer: in this repository only, as it is not to be pushed.
    private func putAside(_ blob: ObjectID, of path: FilePath, _ share: Share) throws(GitError) {
        try share.repository.set(Self.asideRefs + blob.hex, to: blob)
        let sentence =
            "git took back what was saved to \(share.inStore(path)) before it was committed, and it is for others now: git -C "
            + "\(ShellWord.quoted(share.top.string)) cat-file blob \(Self.asideRefs)\(blob.hex) | gpg -d shows what was saved."
        log.warning("\(sentence)")
        options.notify(store.name, sentence)
    }

    /// Whether git has put another version in the place of what was saved, or nothing, and nothing else has that.
    private func isTakenBack(
        _ saved: SavedCiphertexts.Saved, _ bytes: [UInt8], at path: FilePath, _ tip: ObjectID,
        wasDisturbed: Bool, _ share: Share
    ) throws(GitError) -> Bool {
        let (repository, name) = (share.repository, share.inStore(path))
        let now = try? store.content(of: name, limit: store.options.ciphertextLimit).bytes
        guard now != bytes, !store.isReencryption(of: saved.identity, at: name) else { return false }
        if let now {
            let item = TreeItem(id: try Repository.blobID(of: now), kind: .file)
            let older = try repository.log(from: saved.head, limit: 50).map(\.id)
            // An older one may have been encrypted to others since.
            if try !Self.is(item, at: path, inOneOf: older, repository), !store.isReencryption(at: name),
                try !isBrought(item, at: path, since: saved.head, repository)
            {
                return false
            }
        } else if try !isBrought(nil, at: path, since: saved.head, repository),
            !(wasDisturbed && tip == saved.head), try repository.isAncestor(saved.head, of: tip)
        {
            // Whoever removes a secret means it, but for a stash, which takes seconds at most, and for a reset to where
            // the branch was, when we had put the secret into the index already.
            guard let stash = try stashes(repository).first,
                try repository.commitInfo(stash).committer.time >= saved.time - 5
            else { return false }
        }
        return try isNowhere(saved, bytes, at: path, tip, share)
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

    /// Whether no commit since has what was saved, no stash, and no other file.
    private func isNowhere(
        _ saved: SavedCiphertexts.Saved, _ bytes: [UInt8], at path: FilePath, _ tip: ObjectID, _ share: Share
    ) throws(GitError) -> Bool {
        let repository = share.repository
        let item = TreeItem(id: try Repository.blobID(of: bytes), kind: .file)
        let since = try repository.log(from: tip, hiding: [saved.head], limit: 1000).map(\.id)
        if try Self.is(item, at: path, inOneOf: since, repository) { return false }
        return try !isElsewhere(item, saved.head, [tip] + stashes(repository), share)
    }

    /// Looks whether a reset that began before our last commit has taken it out of the branch again. git reads HEAD when it
    /// begins, and moves the branch there at its end, whatever came between.
    nonisolated func lookForResetCommit(_ repository: Repository, _ head: Head) {
        guard case .branch(_, _, let tip?) = head,
            let own = shared.withLock({ $0.isFinishing || $0.lastOwn?.parent != tip ? nil : $0.lastOwn }),
            // "HEAD" was another commit when git read it.
            repository.reflog(of: "HEAD").prefix(5).contains(where: {
                $0.old == own.commit && $0.new == tip && $0.message == "reset: moving to HEAD"
            })
        else { return }
        shared.withLock { $0.lastOwn = nil }
        Task { await self.keepWhatWasReset(own.commit, since: own.parent) }
    }

    /// Makes conflict files of the secrets of a commit that a reset of the user's has taken out of the branch without
    /// having seen it.
    private func keepWhatWasReset(_ commit: ObjectID, since parent: ObjectID) {
        do throws(GitError) {
            guard let share = try ownRepository() else { return }
            let (start, top) = (ContinuousClock.now, share.top)
            GitTraffic.quietly(in: top, until: { quietEnd(start, top) }) {}
            let repository = share.repository
            guard unfinished(share) == nil, case .branch(_, _, let tip?) = try repository.head(),
                try !repository.isAncestor(commit, of: tip)
            else { return }
            var kept: [FilePath] = []
            let changes = try repository.differences(from: parent, to: commit)
            // A change of recipients: what it encrypted anew is for others than the list that applies again.
            let isForOthers = changes.contains { Store.isRecipientFile($0.path) }
            for change in changes {
                guard let saved = change.new, change.path.isSecretName,
                    try !repository.plannedTree(parent: commit, paths: [change.path]).changes.isEmpty,
                    try !isElsewhere(saved, parent, [tip] + stashes(repository), share)
                else { continue }
                if isForOthers {
                    try putAside(saved.id, of: change.path, share)
                } else {
                    kept.append(try keep(saved, beside: change.path, share))
                }
            }
            tellOfTakenBack(kept)
        } catch {
            log.warning("what a reset took out of the branch cannot be looked for: \(error.message)")
        }
    }

    /// Commits what a stash has brought back, after as much time as changes have to gather.
    func lookAfterStash() async {
        hasLooked = false
        try? await Task.sleep(for: options.delay)
        guard !shared.withLock({ $0.isFinishing }) else { return }
        if await lookForUncommitted() { await push() } else { await lookAgain() }
    }
}
