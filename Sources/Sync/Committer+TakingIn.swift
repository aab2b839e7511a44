import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

/// Makes a merge that was computed true: in the working tree, the index and the branch.
extension Committer {
    /// - Returns: false when somebody was faster, and the merge must be computed anew.
    func bringIn(
        _ merge: Merge, _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) -> Bool {
        do throws(GitError) {
            let objects = try NewObjects(of: merge.result, since: [merge.ours, merge.theirs], in: repository)
            let changes = try repository.differences(from: merge.ours, to: merge.result)
            guard try leavesStagedAlone(changes, repository) else {
                throw GitError(
                    code: .invalid,
                    message:
                        "a path that the remote changed is staged here: commit it, or run git restore --staged"
                )
            }
            let update = try WorkingTreeUpdate(
                changes.map { WorkingTreeUpdate.Step(path: $0.path, old: $0.old, new: $0.new) },
                in: repository)
            guard update.edited.isEmpty else {
                try commitFirst(update.edited, ours: merge.ours, repository)
                return false
            }
            if let share = share(of: repository) {
                try checkNothingInTheWay(of: update.additions, ours: merge.ours, share)
            }
            return try bringIn(merge, update, changes.map(\.path), objects, target, repository)
        } catch {
            guard error.code != .modified else { return false }
            guard error.code != .locked else {
                sync.lock = Self.waiting(for: error)
                usleepMilliseconds(20)
                return false
            }
            throw SyncFailure(kind: .passing, message: "changes of the remote wait: \(error.message).")
        }
    }

    /// Working tree first, then the index, then the branch: whatever is cut off, what lies in the working tree is
    /// committed at the next start, and meets the same content on the remote.
    private func bringIn(
        _ merge: Merge, _ update: WorkingTreeUpdate, _ paths: [FilePath], _ objects: NewObjects,
        _ target: SyncTarget, _ repository: Repository
    ) throws(GitError) -> Bool {
        let journal = try note(paths, repository)
        try objects.keepUnlessHeld()
        Fault.point("merge.noted")
        if let top = repository.workingDirectory { GitTraffic.waitForQuiet(in: top) }
        guard try repository.commit(at: target.localRef) == merge.ours else { return false }
        Fault.point("merge.quiet")
        let edited = try update.apply()
        guard edited.isEmpty else {
            // All is as it was; the commit has a note of its own.
            journal.remove()
            try commitFirst(edited, ours: merge.ours, repository)
            return false
        }
        Fault.point("merge.before-index")
        let end = ContinuousClock.now + GitTraffic.patience
        let move = try updateIndexPatiently(repository, paths, to: merge.result, until: end) {
            () throws(GitError) -> PreparedMove in
            try objects.ensure(collecting: GitTraffic.isCollecting)
            let (_, who) = try self.signatures(repository, changed: 0)
            return try repository.preparedMove(
                target.localRef, from: merge.ours, to: merge.result, as: who, "passdir sync: \(merge.subject)"
            )
        }
        Fault.point("merge.before-ref")
        try move.publish { GitTraffic.mayMove(in: repository.workingDirectory, until: end) }
        Fault.point("merge.after-ref")
        try objects.ensure(collecting: GitTraffic.isCollecting)
        objects.release()
        journal.remove()
        log.info("took in \(merge.theirs) of the remote as \(merge.result): \(paths.count) files")
        noteConflicts(merge.conflicts)
        if let share = share(of: repository) {
            sync.newRecipients.formUnion(paths.filter(Store.isRecipientFile).map(share.inStore))
        }
        refreshStatus(repository)
        return true
    }

    /// The files are in place already: better to wait here for a lock than to begin anew.
    /// - Parameter prepareMove: prepares the move of the branch, which comes next.
    private func updateIndexPatiently(
        _ repository: Repository, _ paths: [FilePath], to commit: ObjectID,
        until end: ContinuousClock.Instant,
        _ prepareMove: () throws(GitError) -> PreparedMove
    ) throws(GitError) -> PreparedMove {
        var attempt = 0
        while true {
            do throws(GitError) {
                let step = try GitTraffic.quietly(in: repository.workingDirectory, until: end) {
                    () throws(GitError) in
                    BranchStep(
                        index: try repository.preparedIndex(paths: paths, to: commit), move: try prepareMove()
                    )
                }
                var index = step.index
                try index.publish()
                return step.move
            } catch {
                guard error.code == .locked, attempt < 99 else { throw error }
                attempt += 1
                usleepMilliseconds(5)
            }
        }
    }

    /// Whether the index holds, at the paths that change, what our branch holds, or already what comes.
    private func leavesStagedAlone(
        _ changes: [TreeDifference], _ repository: Repository
    ) throws(GitError) -> Bool {
        let staged = try repository.indexItems(at: changes.map(\.path))
        return changes.allSatisfy { change in
            let item = staged[change.path]
            return item?.id == change.old?.id || item?.id == change.new?.id
        }
    }

    /// An edit in the working tree that nobody has committed: it becomes part of our history before the merge.
    private func commitFirst(
        _ paths: [FilePath], ours: ObjectID?, _ repository: Repository
    ) throws(GitError) {
        guard let share = share(of: repository) else { return }
        try checkNothingInTheWay(of: paths, ours: ours, share)
        for path in paths { note(.saved(share.inStore(path))) }
        commitPending()
        if let change = UnfinishedChange(of: store),
            paths.contains(where: { change.holds(share.inStore($0), isEnding: false) })
        {
            throw GitError(code: .other, message: "a change of recipients is not resumed or taken back")
        }
        if let complaint = shared.withLock({ $0.commitError }) {
            // A sentence by itself, part of one here.
            throw GitError(
                code: .other, message: complaint.hasSuffix(".") ? String(complaint.dropLast()) : complaint)
        }
    }

    private func noteConflicts(_ conflicts: [FilePath]) {
        guard !conflicts.isEmpty else { return }
        ConflictList(store).add(conflicts)
        let names = conflicts.map(\.string).joined(separator: ", ")
        options.notify(
            store.name,
            "Changed here and on the remote of \"\(store.name)\"; our versions are kept as \(names).")
    }
}
