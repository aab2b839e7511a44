import Git
import Glibc
import Stores
import SystemPackage

/// What git put back although it was saved through the mount a moment before.
extension Committer {
    /// What was saved at a path just now; nil for what is no secret, or lies there no more.
    nonisolated func saved(_ change: Change) -> SavedCiphertexts.Saved? {
        guard case .saved(let path) = change, path.isSecretName,
            let (bytes, status) = try? store.content(of: path, limit: store.options.ciphertextLimit)
        else { return nil }
        return SavedCiphertexts.Saved(bytes: bytes, identity: status.identity, time: Int64(time(nil)))
    }

    /// Makes conflict files of the secrets of a batch that git has replaced by older ones, or taken away with what it
    /// stashed. What another program has written in their place is that program's to judge.
    func keepWhatWasTakenBack(_ share: Share, _ batch: PendingChanges) throws(GitError) {
        guard let tip = try share.repository.commit(at: "HEAD") else { return }
        var kept: [FilePath] = []
        for path in share.paths {
            let name = share.inStore(path)
            guard let saved = batch.saved[name],
                try isTakenBack(saved, at: path, tip, share), UnfinishedChange(of: store) == nil,
                // The same text for those who may read it now.
                !store.isReencryption(of: saved.identity, at: name)
            else { continue }
            let blob = try share.repository.writeBlob(saved.bytes)
            kept.append(try keep(TreeItem(id: blob, kind: .file), beside: path, share))
        }
        tellOfTakenBack(kept)
    }

    /// Whether git has put an older version in the place of what was saved, and no commit has that.
    private func isTakenBack(
        _ saved: SavedCiphertexts.Saved, at path: FilePath, _ tip: ObjectID, _ share: Share
    ) throws(GitError) -> Bool {
        let repository = share.repository
        let now = try? store.content(of: share.inStore(path), limit: store.options.ciphertextLimit).bytes
        guard now != saved.bytes else { return false }
        let recent = try repository.log(from: tip, hiding: [], limit: 50)
        // What a commit since has put there is newer.
        guard let before = recent.first(where: { $0.committer.time < saved.time }) else { return false }
        let old = try repository.item(at: path, in: before.id)?.id
        let stashes = try stashes(repository)
        if let now {
            guard try old == Repository.blobID(of: now) else { return false }
        } else {
            // Whoever removes a secret means it, but for a stash, which takes seconds at most.
            guard old == nil, let stash = stashes.first,
                try repository.commitInfo(stash).committer.time >= saved.time - 5
            else { return false }
        }
        let item = TreeItem(id: try Repository.blobID(of: saved.bytes), kind: .file)
        if try Self.is(item, at: path, inOneOf: recent.map(\.id), repository) { return false }
        return try !isElsewhere(item, before.id, [tip] + stashes, share)
    }
}
