import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// What was computed of a merge and is not yet true.
    struct Merge {
        var ours: ObjectID?
        var theirs: ObjectID
        /// The commit that the branch goes to.
        var result: ObjectID
        /// Files that hold our versions beside the remote's, relative to the store.
        var conflicts: [FilePath] = []
        var subject: String
    }

    /// Takes in what is known of the remote: moves the branch forward, or merges. Afterwards our branch holds all of
    /// the remote's.
    func integrate(_ target: SyncTarget) async throws(SyncFailure) {
        try await noteFirstRecipients()
        sync.lock = nil
        for _ in 0..<50 {
            let repository = try open(target)
            let ours: ObjectID?
            let theirs: ObjectID
            do throws(GitError) {
                guard let known = try known(target, in: repository) else { return }
                ours = try repository.commit(at: target.localRef)
                theirs = known
            } catch {
                throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
            }
            if theirs != ours { try checkHistory(theirs, target, repository) }
            do throws(GitError) {
                try checkRewriting(target, ours, theirs, in: repository)
                if let ours, try repository.isAncestor(theirs, of: ours) { return }
            } catch {
                throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
            }
            if try await integrateOnce(target, ours, theirs) { return await tellOfNewRecipients() }
            commitPending()
        }
        throw SyncFailure(
            kind: .passing,
            message: sync.lock.map {
                "changes of the remote wait because another program holds a git lock: \($0); remove it if no git "
                    + "program runs."
            } ?? "changes of the remote wait because the store changes all the time.")
    }

    /// False: something changed under it, all again.
    private func integrateOnce(
        _ target: SyncTarget, _ ours: ObjectID?, _ theirs: ObjectID
    ) async throws(SyncFailure) -> Bool {
        setActivity("merging")
        let repository = try open(target)
        guard !repository.operationInProgress else {
            throw SyncFailure(
                kind: .lasting,
                message: "changes of the remote wait because a merge or rebase is unfinished in "
                    + "\(store.root.path.pushing(target.nested)): finish it with git.")
        }
        var merge = Merge(ours: ours, theirs: theirs, result: theirs, subject: "Fast-forward")
        if let ours {
            let base: ObjectID?
            let line: [CommitInfo]?
            do throws(GitError) {
                base = try repository.mergeBase(ours, theirs)
                line = options.rebases ? try ownLine(from: base, to: ours, repository) : nil
            } catch {
                throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
            }
            // Without a common ancestor nothing is merged at all.
            if let base { try checkIncoming(theirs, known: [ours, base], target, repository) }
            if let line, base != ours {
                merge = try await rebase(line, ours, theirs, target, repository)
            } else if base != ours {
                let plan = try self.plan(repository, base: base, ours, theirs)
                let outcomes = try await settle(plan, target)
                do throws(GitError) {
                    merge = try write(plan, outcomes, target, repository)
                } catch {
                    throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
                }
            }
        } else {
            try checkIncoming(theirs, known: [], target, repository)
        }
        return try bringIn(merge, target, repository)
    }

    /// What becomes of each collision; waits for keys.
    func settle(
        _ plan: MergePlan, _ target: SyncTarget
    ) async throws(SyncFailure) -> [SecretMerge.Outcome] {
        try refuse(plan, target)
        let merges = plan.secrets
        let outcomes = await PlainThread.run { merges.map { $0.settle() } }
        for case .refused(let reason) in outcomes {
            throw SyncFailure(
                kind: .passing,
                message:
                    "changes of the remote wait because a secret that both sides changed cannot be "
                    + "encrypted now: \(reason).")
        }
        for case .later(let reason) in outcomes {
            throw SyncFailure(
                kind: .passing,
                message:
                    "changes of the remote wait because a secret that both sides changed cannot be "
                    + "decrypted now: \(reason).")
        }
        return outcomes
    }

    // MARK: the plan

    struct MergePlan {
        var ours: ObjectID
        var theirs: ObjectID
        var merge: TreeMerge
        /// One for each collision.
        var secrets: [SecretMerge]
        var hasBase: Bool
    }

    func plan(
        _ repository: Repository, base: ObjectID?, _ ours: ObjectID, _ theirs: ObjectID
    ) throws(SyncFailure) -> MergePlan {
        guard let base else {
            return MergePlan(
                ours: ours, theirs: theirs, merge: TreeMerge(ours: [], theirs: []), secrets: [],
                hasBase: false)
        }
        do throws(GitError) {
            return try plan(repository, onto: base, ours, theirs)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
        }
    }

    private func plan(
        _ repository: Repository, onto base: ObjectID, _ ours: ObjectID, _ theirs: ObjectID
    ) throws(GitError) -> MergePlan {
        let merge = TreeMerge(
            ours: try repository.differences(from: base, to: ours),
            theirs: try repository.differences(from: base, to: theirs))
        let share = share(of: repository)
        var secrets: [SecretMerge] = []
        for collision in merge.collisions {
            secrets.append(
                SecretMerge(
                    store: store, path: share?.inStore(collision.path) ?? collision.path,
                    repository: repository.gitDirectory, collision: collision))
        }
        return MergePlan(ours: ours, theirs: theirs, merge: merge, secrets: secrets, hasBase: true)
    }

    /// What only the user can settle.
    private func refuse(_ plan: MergePlan, _ target: SyncTarget) throws(SyncFailure) {
        let place = store.root.path.pushing(target.nested)
        guard plan.hasBase else {
            throw SyncFailure(
                kind: .lasting,
                message:
                    "the remote \"\(target.remote)\" has another history than this store, as if the repository "
                    + "had been replaced: nothing is merged or pushed. To join the two, run git merge "
                    + "--allow-unrelated-histories in \(place).")
        }
        if let file = plan.merge.recipientFiles.first {
            throw SyncFailure(
                kind: .lasting,
                message:
                    "\(file.string) was changed here and on the remote \"\(target.remote)\": whom to encrypt to "
                    + "is for you to settle. Nothing is merged or pushed until then; run git pull in \(place) and "
                    + "write the list that is right.")
        }
    }

    // MARK: the merge commit

    /// The tree that holds what both sides changed, and the names, relative to the store, that our versions have where
    /// both stay.
    func mergedTree(
        _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ repository: Repository
    ) throws(GitError) -> (tree: ObjectID, conflicts: [FilePath]) {
        var merged = MergedFiles(
            ours: plan.ours, theirs: plan.theirs, now: Int64(time(nil)), in: repository)
        for edit in plan.merge.edits { try merged.put(edit.item, at: edit.path) }
        for (collision, outcome) in zip(plan.merge.collisions, outcomes) {
            switch outcome {
            case .ours, .later, .refused: break
            case .theirs: try merged.put(collision.theirs, at: collision.path)
            case .merged(let blob):
                try merged.put(TreeItem(id: blob, kind: collision.theirs.kind), at: collision.path)
            case .both:
                try merged.put(collision.theirs, at: collision.path)
                try merged.keep(collision.ours, beside: collision.path)
            }
        }
        try merged.makeRoom()
        let tree = try repository.tree(of: plan.ours, edited: merged.edits)
        let share = share(of: repository)
        return (tree, merged.conflicts.map { share?.inStore($0) ?? $0 })
    }

    /// What a commit says of conflicts.
    static func message(of conflicts: [FilePath]) -> String {
        guard !conflicts.isEmpty else { return "" }
        return "\nChanged on both sides, our versions are kept as:\n"
            + conflicts.map { "- \($0)\n" }.joined()
    }

    private func write(
        _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ target: SyncTarget, _ repository: Repository
    ) throws(GitError) -> Merge {
        let (tree, names) = try mergedTree(plan, outcomes, repository)
        let url = GitError.withoutPasswords(repository.url(ofRemote: target.remote) ?? target.remote)
        let message = "Merge branch '\(target.branch)' of \(url)\n" + Self.message(of: names)
        let (author, committer) = try signatures(repository, changed: 0)
        let commit = try repository.makeCommit(
            tree: tree, parents: [plan.ours, plan.theirs], message: message, author: author,
            committer: committer,
            sign: try signer(repository, committer))
        return Merge(
            ours: plan.ours, theirs: plan.theirs, result: commit, conflicts: names,
            subject: "Merge branch '\(target.branch)'")
    }

    // MARK: making it true

    private func bringIn(
        _ merge: Merge, _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) -> Bool {
        do throws(GitError) {
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
                try commitFirst(update.edited, repository)
                return false
            }
            return try bringIn(merge, update, changes.map(\.path), target, repository)
        } catch {
            guard error.code != .modified else { return false }
            guard error.code != .locked else {
                sync.lock = error.message
                usleepMilliseconds(20)
                return false
            }
            throw SyncFailure(kind: .passing, message: "changes of the remote wait: \(error.message).")
        }
    }

    /// Working tree first, then the index, then the branch: whatever is cut off, what lies in the working tree is
    /// committed at the next start, and meets the same content on the remote.
    private func bringIn(
        _ merge: Merge, _ update: WorkingTreeUpdate, _ paths: [FilePath], _ target: SyncTarget,
        _ repository: Repository
    ) throws(GitError) -> Bool {
        let journal: CommitJournal
        do throws(Errno) {
            journal = try CommitJournal(paths, gitDirectory: repository.gitDirectory)
        } catch {
            throw GitError(code: .locked, message: "the merge's note cannot be written: \(error)")
        }
        if let top = repository.workingDirectory { GitTraffic.waitForQuiet(in: top) }
        guard try repository.commit(at: target.localRef) == merge.ours else { return false }
        Fault.point("merge.noted")
        let edited = try update.apply()
        guard edited.isEmpty else {
            try commitFirst(edited, repository)
            return false
        }
        Fault.point("merge.before-index")
        try updateIndexPatiently(repository, paths, to: merge.result)
        Fault.point("merge.before-ref")
        let (_, who) = try signatures(repository, changed: 0)
        try repository.move(
            target.localRef, from: merge.ours, to: merge.result, as: who, "passdir sync: \(merge.subject)")
        Fault.point("merge.after-ref")
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
    private func updateIndexPatiently(
        _ repository: Repository, _ paths: [FilePath], to commit: ObjectID
    ) throws(GitError) {
        for attempt in 0..<100 {
            do throws(GitError) {
                try repository.updateIndex(paths: paths, to: commit)
                return
            } catch {
                guard error.code == .locked, attempt < 99 else { throw error }
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
    private func commitFirst(_ paths: [FilePath], _ repository: Repository) throws(GitError) {
        guard let share = share(of: repository) else { return }
        for path in paths { note(.saved(share.inStore(path))) }
        commitPending()
        if let complaint = shared.withLock({ $0.commitError }) {
            throw GitError(code: .other, message: complaint)
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

func usleepMilliseconds(_ count: UInt32) {
    usleep(count * 1000)
}
