import Git
import Glibc
import Logging
import Stores
import SystemPackage

/// What is saved while a merge or rebase of the user's is unfinished, and so cannot be committed.
///
/// `git rebase --abort` and its kind put the files of git back as they were, and whatever was written to them is gone. So
/// what waits is kept in a commit beside the branches until it is committed, or has become a conflict file.
extension Committer {
    private static let waitingRef = "refs/passdir/waiting"

    /// Keeps what lies in the working tree at these paths.
    func keepWaiting(_ share: Share) {
        let repository = share.repository
        do throws(GitError) {
            let old = try repository.commit(at: Self.waitingRef)
            let head = try repository.commit(at: "HEAD")
            guard
                let base = try old.map({ (id) throws(GitError) in try repository.commitInfo(id) })?.parents
                    .first ?? head
            else { return }
            let share = try committable(share, onto: base, exactly: false)
            let (tree, changes) = try repository.preparedTree(parent: old ?? base, paths: share.paths)
            guard !changes.isEmpty else { return }
            let (author, committer) = try signatures(repository, changed: 0)
            let commit = try repository.makeCommit(
                tree: tree, parents: [base], message: "Saved while a merge or rebase was unfinished.\n",
                author: author, committer: committer)
            try repository.set(Self.waitingRef, to: commit)
        } catch {
            log.warning("what waits cannot be kept beside the working tree: \(error.message)")
        }
    }

    /// Once git has finished: what it has taken out of the working tree, and no commit holds, becomes a conflict file.
    func takeUpWaiting(_ share: Share) throws(GitError) {
        let repository = share.repository
        guard let waiting = try repository.commit(at: Self.waitingRef), !repository.operationInProgress,
            case .branch(_, _, let tip?) = try repository.head(),
            let base = try repository.commitInfo(waiting).parents.first
        else { return }
        let since = try repository.log(from: tip, hiding: [base], limit: 1000).map(\.id)
        let stash = try repository.commit(at: "refs/stash")
        var mustStay = false
        var kept: [FilePath] = []
        for change in try repository.differences(from: base, to: waiting) {
            guard let saved = change.new, try isTakenBack(change.path, saved, tip, since, repository) else {
                continue
            }
            // The user's to bring back, or to drop.
            if let stash, try repository.item(at: change.path, in: stash)?.id == saved.id {
                mustStay = true
            } else {
                kept.append(try keep(saved, beside: change.path, share))
            }
        }
        if !mustStay { try repository.remove(Self.waitingRef) }
        guard !kept.isEmpty else { return }
        ConflictList(store).add(kept)
        for path in kept { note(.saved(path)) }
        options.notify(
            store.name,
            "git took back what was saved to \"\(store.name)\" during a merge or rebase; it is kept as "
                + kept.map(\.string).joined(separator: ", ") + ".")
    }

    /// Whether the working tree holds what the branch does, and not what was saved, and no newer commit had that.
    private func isTakenBack(
        _ path: FilePath, _ saved: TreeItem, _ tip: ObjectID, _ since: [ObjectID], _ repository: Repository
    ) throws(GitError) -> Bool {
        guard let now = try repository.item(at: path, in: tip), now.id != saved.id,
            try repository.plannedTree(parent: tip, paths: [path]).changes.isEmpty
        else { return false }
        for commit in since where try repository.item(at: path, in: commit)?.id == saved.id { return false }
        return true
    }

    /// - Returns: the name that it got, relative to the store.
    private func keep(
        _ saved: TreeItem, beside path: FilePath, _ share: Share
    ) throws(GitError) -> FilePath {
        for attempt in 0..<1000 {
            let name = ConflictName.path(
                beside: path, host: ConflictName.host, at: Int64(time(nil)), attempt: attempt)
            let update = try WorkingTreeUpdate(
                [WorkingTreeUpdate.Step(path: name, old: nil, new: saved)], in: share.repository)
            guard update.edited.isEmpty, try update.apply().isEmpty else { continue }
            return share.inStore(name)
        }
        throw GitError(code: .other, message: "there are too many conflicts of \(path)")
    }
}
