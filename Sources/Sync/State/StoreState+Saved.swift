import Git
import Glibc
import Stores
import System
import SystemPackage

/// What git may take back although it was saved through the mount a moment before.
extension StoreState {
    /// What was saved at a path just now; nil for what is no secret, lies there no more where nobody holds it, or is the first of
    /// a repository.
    func saved(_ change: Change, as held: HeldFile?) -> SavedCiphertexts.Saved? {
        guard case .saved(let path) = change, path.isSecretName,
            let top = store.repositories.around(path), let part = try? repository(at: top),
            let head = try? part.repository.commit(at: "HEAD"),
            let file = try? held ?? store.hold(path), file.status.kind == .regular
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
    func recipients(at path: FilePath) -> [String] {
        guard store.options.recipientOverride == nil, let file = try? store.recipientFile(for: path) else {
            return []
        }
        return (try? store.recipientFileContent(file, isVerified: false).lines) ?? []
    }

    /// Looks whether a reset that began before our last commit has taken it out of the branch again. git reads HEAD when it
    /// begins, and moves the branch there at its end, whatever came between.
    func lookForResetCommit(_ repository: Repository, _ head: Head) {
        guard case .branch(_, _, let tip?) = head,
            let own = withLock({ $0.isFinishing ? nil : $0.lastOwn }), tip != own.commit, tip != own.seenAt
        else { return }
        // The branch may have gone on since. "HEAD" was another commit when git read it.
        let reset = repository.reflog(of: "HEAD").prefix(50).first {
            $0.old == own.commit && $0.new != own.commit && $0.message == "reset: moving to HEAD"
        }
        withLock { values in
            guard values.lastOwn?.commit == own.commit else { return }
            values.lastOwn = reset == nil ? (own.commit, tip) : nil
        }
        if let reset { send(.keepReset(own.commit, since: reset.new)) }
    }
}
