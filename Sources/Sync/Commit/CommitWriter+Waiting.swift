import Git
import Logging
import Stores
import System
import SystemPackage

/// What is saved while a merge or rebase of the user's is unfinished, or no branch is checked out, and so cannot be
/// committed.
///
/// `git rebase --abort` and its kind put the files of git back as they were, and whatever was written to them is gone. So
/// what waits is kept in a commit beside the branches until it is committed, or has become a conflict file
/// (`takeUpWaiting`).
extension CommitWriter {
    static let waitingRef = "refs/passdir/waiting"
    static let noBranch = "no branch is checked out there: run git switch"

    /// Why nothing can be committed before the user has done something in git, as one sentence; nil when it can.
    func unfinished(_ part: RepositoryPart) -> String? {
        var reason: String?
        if let operation = part.repository.operation {
            reason =
                "changes wait because \(operation) is unfinished in \(part.top.string): \(part.repository.wayOut)."
        } else if case .detached = try? part.repository.head() {
            reason = "cannot commit in \(part.top.string): \(Self.noBranch)."
        }
        let isFree = reason == nil
        state.withLock { values in
            values.note(part.nested, isUnfinished: !isFree)
            if isFree { values.kept[part.nested] = nil }
        }
        return reason
    }

    /// Keeps what waits where nothing can be committed: soon after each save, as the user may end it at any time.
    func keepPending() {
        state.withLock { $0.isKeeping = false }
        // What a change of recipients has put in place is that change's to commit or to take back.
        guard state.followFolder() == nil, UnfinishedChange(of: store) == nil else { return }
        let pending = state.withLock { $0.pending }
        guard !pending.isEmpty, let parts = try? state.parts(of: pending) else { return }
        for part in parts where unfinished(part) != nil { keepWaiting(part, pending) }
    }

    /// Keeps what was saved at these paths; what is not held any more, as it lies in the working tree.
    ///
    /// Only what was saved or taken away through the mount since it was last kept is looked at: anything else that
    /// happens to a file meanwhile, or is missing, is git's doing.
    func keepWaiting(_ part: RepositoryPart, _ batch: PendingChanges) {
        for attempt in 0..<10 {
            do throws(GitError) {
                return try keepOnce(part, batch)
            } catch {
                // A collector of git's may take away what is being written, or took away what was.
                let isDropped = dropDamagedWaiting(part)
                guard attempt < 9, isDropped || [.modified, .notFound].contains(error.code) else {
                    return log.warning(
                        "cannot save pending changes outside the working tree: \(error.message)")
                }
            }
        }
    }

    private func keepOnce(_ part: RepositoryPart, _ batch: PendingChanges) throws(GitError) {
        let repository = part.repository
        let kept = state.withLock { $0.kept[part.nested] ?? [] }
        let paths = part.paths.filter { path in
            let name = part.inStore(path)
            guard !kept.contains(name) else { return false }
            return batch.removed.contains(name) || batch.saved[name] != nil
                || part.top.pushing(path).kindOnDisk != nil
        }
        guard !paths.isEmpty else { return }
        var part = part
        part.paths = paths
        let names = part.paths.map(part.inStore)
        // Before they are read: what is saved from now on is looked at again.
        let saved = state.withLock { values in
            values.kept[part.nested, default: []].formUnion(names)
            return names.reduce(into: [FilePath: SavedCiphertexts.Saved]()) { saved, name in
                let newest = values.pending.touches(name) ? values.pending : batch
                saved.merge(newest.saved.all(below: name)) { first, _ in first }
            }
        }
        do throws(GitError) {
            let old = try repository.commit(at: Self.waitingRef)
            let head = try repository.commit(at: "HEAD")
            guard
                let base = try old.map({ (id) throws(GitError) in try repository.commitInfo(id) })?.parents
                    .first ?? head
            else { return }
            // git may have taken a file back, or be writing another one, right behind the save.
            let contents = contents(of: saved, in: part)
            part.paths += contents.keys.filter { !paths.contains($0) }
            part = try committable(part, onto: base, exactly: false)
            let (tree, changes) = try repository.preparedTree(
                parent: old ?? base, paths: part.paths, holding: contents)
            guard !changes.isEmpty else { return }
            Fault.point("waiting.tree")
            let (author, committer) = try repository.signatures()
            let commit = try repository.makeCommit(
                tree: tree, parents: [base], message: "Saved while nothing could be committed.\n",
                author: author, committer: committer)
            Fault.point("waiting.commit")
            let objects = try NewObjects(of: commit, since: [base], in: repository)
            try objects.keepUnlessHeld()
            Fault.point("waiting.held")
            try objects.ensure(collecting: GitTraffic.isCollecting)
            try repository.set(Self.waitingRef, to: commit)
            Fault.point("waiting.kept")
            try objects.ensure(collecting: GitTraffic.isCollecting)
        } catch {
            state.withLock { $0.kept[part.nested]?.subtract(names) }
            throw error
        }
    }

    /// By their paths in the repository; without what can be read no more, or lies in another one.
    private func contents(
        of saved: [FilePath: SavedCiphertexts.Saved], in part: RepositoryPart
    ) -> [FilePath: [UInt8]] {
        saved.reduce(into: [:]) { contents, file in
            guard store.repositories.around(file.key) == part.nested,
                let path = file.key.relative(to: part.nested)
            else { return }
            contents[path] = file.value.content.bytes(limit: store.options.ciphertextLimit)
        }
    }

    /// Gives up what was kept and of which objects are gone: git's own programs fail over such a reference, and the files
    /// that it was made of are kept anew where they still lie.
    /// - Returns: whether there was such a thing.
    func dropDamagedWaiting(_ part: RepositoryPart) -> Bool {
        let repository = part.repository
        do throws(GitError) {
            guard let id = try repository.commit(at: Self.waitingRef) else { return false }
            do throws(GitError) {
                let base = try repository.commitInfo(id).parents
                _ = try NewObjects(of: id, since: base, in: repository)
                return false
            } catch {
                guard error.code == .modified || error.code == .notFound else { return false }
                try repository.remove(Self.waitingRef)
                state.withLock { $0.kept[part.nested] = nil }
                options.notify(
                    store.name,
                    "git removed part of what was kept of \"\(store.name)\" while nothing could be committed; "
                        + "what is still in the store is kept again.")
                log.error(
                    "lost part of what was kept in \(part.top.string) while nothing could be committed: \(error.message)"
                )
                return true
            }
        } catch {
            return false
        }
    }
}
