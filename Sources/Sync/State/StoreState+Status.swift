import Git
import OrderedCollections
import Stores
import SystemPackage

/// What a committer knows of its store, for people.
extension StoreState {
    /// What is known right now; does not wait for work that is going on.
    var status: CommitterStatus {
        withLock { values in
            var status = values.status
            status.pendingChanges = values.waiting.count
            status.lastError = values.complaint
            status.notes += [values.ignoredSentence].compactMap(\.self) + values.refusedSentences
            status.notes += unopenedSentences(values.unopened)
            status.notes += [stagedSentence(values.staged)].compactMap { $0.map { String($0.dropLast()) } }
            return status
        }
    }

    /// As `status`, with what a folder that was replaced has left behind, and of the branch as it is now; looks at the
    /// disk.
    var wholeStatus: CommitterStatus {
        let complaint = followFolder()
        if complaint == nil {
            lookAtBranch()
            forgetWhatIsGone()
            forgetWhatIsNotStaged()
        }
        var status = status
        // A command may have pushed beside us.
        status.lastPush = [status.lastPush, learnedTime("lastPush")].compactMap(\.self).max()
        status.lastFetch = [status.lastFetch, learnedTime("lastFetch")].compactMap(\.self).max()
        let safe = complaint == nil ? safeCount : 0
        if safe > 0 {
            status.pendingChanges -= min(safe, status.pendingChanges)
            if status.pendingChanges == 0 {
                status.lastError = withLock { $0.headError ?? $0.lookError ?? $0.syncError }
            }
        }
        // Those of the repositories inside the store wait like its own.
        let tops = withLock { $0.nestedTops }
        if complaint == nil { status.unpushedCommits += tops.reduce(0) { $0 + unpushedCount(at: $1) } }
        status.lastError = complaint ?? leftBehindSentence ?? status.lastError
        if complaint == nil, let sentence = driftSentence { status.notes.append(sentence) }
        // A folder that is gone is not a store without a repository: what is saved waits for it.
        if complaint != nil { (status.state, status.isLooking) = (.ready, false) }
        return status
    }

    /// A time that was learned of the store, in seconds since 1970.
    func learnedTime(_ fact: String) -> Int64? { store.fact(fact).flatMap { Int64($0) } }

    /// Keeps such a time.
    func keep(_ time: Int64, as fact: String) {
        store.remember(String(time), as: fact)
        options.keepFact?(fact, String(time))
    }

    /// How many of the paths that wait, because a user has something unfinished, have nothing to wait with any more: the
    /// newest commit has what was saved, or the user has stashed it. Looks at the disk.
    var safeCount: Int {
        let (pending, removed, tops) = withLock { values in
            let stillRemoved = values.inWork.removed.subtracting(values.pending.paths)
            return (values.waiting, stillRemoved.union(values.pending.removed), values.unfinished)
        }
        guard !pending.isEmpty else { return 0 }
        return tops.reduce(0) { count, top in
            let paths = pending.filter { store.repositories.around($0) == top }
            return count + ((try? safeCount(of: paths, removed: removed, below: top)) ?? 0)
        }
    }

    /// - Parameters:
    ///   - names: relative to the store.
    ///   - removed: those among them that were taken away through the mount; what is kept may have them still.
    private func safeCount(
        of names: OrderedSet<FilePath>, removed: Set<FilePath>, below top: FilePath
    ) throws(GitError) -> Int {
        let paths = names.compactMap { $0.relative(to: top) }
        guard !paths.isEmpty, let part = try repository(at: top),
            let head = try part.repository.commit(at: "HEAD")
        else { return 0 }
        let repository = part.repository
        let changed = try repository.plannedTree(parent: head, paths: paths).changes.map(\.path)
        let waiting = try repository.commit(at: CommitWriter.waitingRef)
        let places = [head] + (try repository.stashes())
        var count = 0
        for path in paths where !changed.contains(where: { $0.starts(with: path) }) {
            if let waiting, !removed.contains(part.inStore(path)),
                let saved = try repository.item(at: path, in: waiting),
                try !repository.has(saved, at: path, inOneOf: places)
            {
                continue
            }
            count += 1
        }
        return count
    }
}
