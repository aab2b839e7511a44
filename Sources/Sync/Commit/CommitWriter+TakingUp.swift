import Git
import Glibc
import Stores
import SystemPackage

/// What becomes of what was kept beside the working tree (`keepWaiting`) once commits are possible again.
extension CommitWriter {
    /// What git has taken out of the working tree, and no commit holds, becomes a conflict file; not what was removed or got
    /// another name through the mount, which may not have reached what is kept.
    func takeUpWaiting(_ part: RepositoryPart) throws(GitError) {
        let repository = part.repository
        guard try repository.commit(at: Self.waitingRef) != nil, unfinished(part) == nil,
            !dropDamagedWaiting(part)
        else { return }
        // git puts files in their places before and after it notes that it has finished.
        state.waitForQuiet(in: part.top)
        guard unfinished(part) == nil, let waiting = try repository.commit(at: Self.waitingRef),
            case .branch(_, _, let tip?) = try repository.head(),
            let base = try repository.commitInfo(waiting).parents.first
        else { return }
        let since = try repository.log(from: tip, hiding: [base], limit: 1000).map(\.id)
        let stashes = try repository.stashes()
        let removed = state.removed(in: part)
        var mustStay = false
        var kept: [FilePath] = []
        for change in try repository.differences(from: base, to: waiting) {
            guard let saved = change.new, !change.path.andFolders.contains(where: removed.contains),
                try isTakenBack(change.path, saved, waiting, base, [tip] + since, part)
            else { continue }
            // The user's to bring back, or to drop.
            if try repository.has(saved, at: change.path, inOneOf: stashes) {
                mustStay = true
            } else {
                kept.append(try keep(saved, beside: change.path, part))
            }
        }
        if !mustStay { try repository.remove(Self.waitingRef) }
        tellOfTakenBack(kept)
    }

    /// Tells of conflict files.
    func tellOfTakenBack(_ kept: [FilePath]) {
        guard !kept.isEmpty else { return }
        ConflictList(store).add(kept)
        options.notify(
            store.name,
            "git reverted what was saved to \"\(store.name)\" before it was committed; it is kept as "
                + kept.map(\.string).joined(separator: ", ") + ".")
    }

    /// Whether neither the working tree nor a commit since has what was saved. What lies there instead, newer or older,
    /// does not count: whoever saved it may never have seen this.
    /// - Parameter commits: the newest one of the branch, and those since what was saved was built upon.
    private func isTakenBack(
        _ path: FilePath, _ saved: TreeItem, _ waiting: ObjectID, _ base: ObjectID, _ commits: [ObjectID],
        _ part: RepositoryPart
    ) throws(GitError) -> Bool {
        let repository = part.repository
        if try repository.plannedTree(parent: waiting, paths: [path]).changes.isEmpty { return false }
        if try repository.has(saved, at: path, inOneOf: commits) { return false }
        guard let tip = commits.first else { return true }
        return try !isElsewhere(saved, base, [tip], part)
    }

    /// Whether a blob that `base` does not have is in one of these commits under any name, or in the working tree under one
    /// that waits for its commit.
    func isElsewhere(
        _ saved: TreeItem, _ base: ObjectID, _ commits: [ObjectID], _ part: RepositoryPart
    ) throws(GitError) -> Bool {
        let repository = part.repository
        for commit in commits
        where try repository.differences(from: base, to: commit).contains(where: {
            // git may have stashed our temporary file, which nobody is ever shown.
            $0.new?.id == saved.id && $0.path.lastComponent.map(VisibleName.isHidden) != true
        }) {
            return true
        }
        guard let tip = commits.first else { return false }
        let pending = state.withLock { $0.pending }
        let others = ((try? state.parts(of: pending)) ?? []).filter { $0.nested == part.nested }
        let paths = part.paths + others.flatMap(\.paths)
        return try repository.plannedTree(parent: tip, paths: paths).changes.contains { $0.new == saved.id }
    }

    /// Puts back what was saved as a conflict file, which is committed soon.
    /// - Returns: the name that it got, relative to the store.
    func keep(
        _ saved: TreeItem, beside path: FilePath, _ part: RepositoryPart
    ) throws(GitError) -> FilePath {
        for attempt in 0..<1000 {
            let name = ConflictName.path(beside: path, at: Int64(time(nil)), attempt: attempt)
            let update = try WorkingTreeUpdate(
                [WorkingTreeUpdate.Step(path: name, old: nil, new: saved)], in: part.repository)
            let inStore = part.inStore(name)
            // The program that took the secret away may take this, too, as long as it runs.
            guard update.edited.isEmpty, try update.apply().isEmpty, let file = try? store.hold(inStore)
            else { continue }
            state.note(.saved(inStore), as: file)
            return inStore
        }
        throw GitError(code: .other, message: "there are too many conflicts of \(path)")
    }
}
