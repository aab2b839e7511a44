import Git
import Glibc
import OrderedCollections
import Stores
import Synchronization
import SystemPackage

/// What becomes of what was kept beside the working tree (`keepWaiting`) once commits are possible again.
extension Committer {
    /// What git has taken out of the working tree, and no commit holds, becomes a conflict file.
    func takeUpWaiting(_ share: Share) throws(GitError) {
        let repository = share.repository
        guard try repository.commit(at: Self.waitingRef) != nil, unfinished(share) == nil,
            !dropDamagedWaiting(share)
        else { return }
        // git puts files in their places before and after it notes that it has finished.
        let (start, top) = (ContinuousClock.now, share.top)
        GitTraffic.quietly(in: top, until: { quietEnd(start, top) }) {}
        guard unfinished(share) == nil, let waiting = try repository.commit(at: Self.waitingRef),
            case .branch(_, _, let tip?) = try repository.head(),
            let base = try repository.commitInfo(waiting).parents.first
        else { return }
        let since = try repository.log(from: tip, hiding: [base], limit: 1000).map(\.id)
        let stashes = try stashes(repository)
        var mustStay = false
        var kept: [FilePath] = []
        for change in try repository.differences(from: base, to: waiting) {
            guard let saved = change.new,
                try isTakenBack(change.path, saved, waiting, base, [tip] + since, share)
            else { continue }
            // The user's to bring back, or to drop.
            if try Self.is(saved, at: change.path, inOneOf: stashes, repository) {
                mustStay = true
            } else {
                kept.append(try keep(saved, beside: change.path, share))
            }
        }
        if !mustStay { try repository.remove(Self.waitingRef) }
        tellOfTakenBack(kept)
    }

    /// Commits the conflict files, and tells of them.
    func tellOfTakenBack(_ kept: [FilePath]) {
        guard !kept.isEmpty else { return }
        ConflictList(store).add(kept)
        for path in kept { note(.saved(path)) }
        options.notify(
            store.name,
            "git took back what was saved to \"\(store.name)\" before it was committed; it is kept as "
                + kept.map(\.string).joined(separator: ", ") + ".")
    }

    /// How many of the paths that wait, because a user has something unfinished, have nothing to wait with any more: the
    /// newest commit has what was saved, or the user has stashed it. Looks at the disk.
    nonisolated var settledCount: Int {
        let (pending, removed, tops) = shared.withLock { shared in
            let stillRemoved = shared.inWork.removed.subtracting(shared.pending.paths)
            return (shared.waiting, stillRemoved.union(shared.pending.removed), shared.unfinished)
        }
        guard !pending.isEmpty else { return 0 }
        return tops.reduce(0) { count, top in
            let paths = pending.filter { store.repositories.around($0) == top }
            return count + ((try? settledCount(of: paths, removed: removed, below: top)) ?? 0)
        }
    }

    /// - Parameters:
    ///   - names: relative to the store.
    ///   - removed: those among them that were taken away through the mount; what is kept may have them still.
    private nonisolated func settledCount(
        of names: OrderedSet<FilePath>, removed: Set<FilePath>, below top: FilePath
    ) throws(GitError) -> Int {
        let paths = names.compactMap { name -> FilePath? in
            var path = name
            return top.isEmpty || path.removePrefix(top) ? path : nil
        }
        guard !paths.isEmpty, let share = try repository(at: top),
            let head = try share.repository.commit(at: "HEAD")
        else { return 0 }
        let repository = share.repository
        let changed = try repository.plannedTree(parent: head, paths: paths).changes.map(\.path)
        let waiting = try repository.commit(at: Self.waitingRef)
        let places = [head] + (try stashes(repository))
        var count = 0
        for path in paths where !changed.contains(where: { $0.starts(with: path) }) {
            if let waiting, !removed.contains(share.inStore(path)),
                let saved = try repository.item(at: path, in: waiting),
                try !Self.is(saved, at: path, inOneOf: places, repository)
            {
                continue
            }
            count += 1
        }
        return count
    }

    /// Whether neither the working tree nor a commit since has what was saved. What lies there instead, newer or older,
    /// does not count: whoever saved it may never have seen this.
    /// - Parameter commits: the newest one of the branch, and those since what was saved was built upon.
    private func isTakenBack(
        _ path: FilePath, _ saved: TreeItem, _ waiting: ObjectID, _ base: ObjectID, _ commits: [ObjectID],
        _ share: Share
    ) throws(GitError) -> Bool {
        let repository = share.repository
        if try repository.plannedTree(parent: waiting, paths: [path]).changes.isEmpty { return false }
        if try Self.is(saved, at: path, inOneOf: commits, repository) { return false }
        guard let tip = commits.first else { return true }
        return try !isElsewhere(saved, base, [tip], share)
    }

    /// Whether a blob that `base` does not have is in one of these commits under any name, or in the working tree under one
    /// that waits for its commit.
    func isElsewhere(
        _ saved: TreeItem, _ base: ObjectID, _ commits: [ObjectID], _ share: Share
    ) throws(GitError) -> Bool {
        let repository = share.repository
        for commit in commits
        where try repository.differences(from: base, to: commit).contains(where: { $0.new?.id == saved.id }) {
            return true
        }
        guard let tip = commits.first else { return false }
        let pending = shared.withLock { $0.pending }
        let others = ((try? shares(of: pending)) ?? []).filter { $0.nested == share.nested }
        let paths = share.paths + others.flatMap(\.paths)
        return try repository.plannedTree(parent: tip, paths: paths).changes.contains { $0.new == saved.id }
    }

    static func `is`(
        _ item: TreeItem, at path: FilePath, inOneOf commits: [ObjectID], _ repository: Repository
    ) throws(GitError) -> Bool {
        for commit in commits where try repository.item(at: path, in: commit)?.id == item.id { return true }
        return false
    }

    /// The newest stashes, newest first, each before the commit of the files in it that git did not know (git-stash(1),
    /// "Discussion").
    nonisolated func stashes(_ repository: Repository) throws(GitError) -> [ObjectID] {
        guard try repository.commit(at: "refs/stash") != nil else { return [] }
        var found: [ObjectID] = []
        for line in repository.reflog(of: "refs/stash").prefix(20) {
            // One of which the objects are gone has nothing to offer, and keeps nothing from being committed.
            guard let info = try? repository.commitInfo(line.new) else { continue }
            found.append(line.new)
            found += info.parents.dropFirst(2)
        }
        return found
    }

    /// - Returns: the name that it got, relative to the store.
    func keep(
        _ saved: TreeItem, beside path: FilePath, _ share: Share
    ) throws(GitError) -> FilePath {
        for attempt in 0..<1000 {
            let name = ConflictName.path(beside: path, at: Int64(time(nil)), attempt: attempt)
            let update = try WorkingTreeUpdate(
                [WorkingTreeUpdate.Step(path: name, old: nil, new: saved)], in: share.repository)
            guard update.edited.isEmpty, try update.apply().isEmpty else { continue }
            return share.inStore(name)
        }
        throw GitError(code: .other, message: "there are too many conflicts of \(path)")
    }
}
