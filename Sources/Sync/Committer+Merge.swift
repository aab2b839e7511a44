import Git
import Glibc
import Logging
import Stores
import Synchronization
import System
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
        // A lock that is held for long is no reason to hold up whoever waits for this exchange.
        let end = ContinuousClock.now + .seconds(3)
        for _ in 0..<50 where sync.lock == nil || .now < end {
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
            try checkHistory(theirs, ours: ours, target, repository)
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
            message: "changes of the remote wait because \(sync.lock ?? "the store changes all the time").")
    }

    /// False: something changed under it, all again.
    private func integrateOnce(
        _ target: SyncTarget, _ ours: ObjectID?, _ theirs: ObjectID
    ) async throws(SyncFailure) -> Bool {
        setActivity("merging")
        let repository = try open(target)
        try refuseUnfinished(target, repository)
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
        Fault.point("merge.written")
        return try bringIn(merge, target, repository)
    }

    /// What a user's own merge or rebase has begun is left alone.
    func refuseUnfinished(_ target: SyncTarget, _ repository: Repository) throws(SyncFailure) {
        guard let operation = repository.operation else { return }
        throw SyncFailure(
            kind: .lasting,
            message: "changes of the remote wait because \(operation) is unfinished in "
                + "\(store.root.path.pushing(target.nested)): finish it with git.")
    }

    /// What becomes of each collision; waits for keys.
    func settle(
        _ plan: MergePlan, _ target: SyncTarget
    ) async throws(SyncFailure) -> [SecretMerge.Outcome] {
        try refuse(plan, target)
        let merges = plan.secrets
        let outcomes = await PosixThread.run(named: "merge") { merges.map { $0.settle() } }
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
                    + "had been replaced: nothing is merged or pushed. \(Self.choices(of: store.name)); to join the "
                    + "two, run git merge --allow-unrelated-histories in \(place).")
        }
        let unsettled: FilePath?
        do throws(GitError) {
            unsettled = try unsettledList(plan, target)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot merge: \(error.message).")
        }
        if let file = unsettled {
            throw SyncFailure(
                kind: .lasting,
                message:
                    "\(target.nested.pushing(file)) was changed here and on the remote \"\(target.remote)\": whom to encrypt "
                    + "to is for you to settle with passdir recipients settle \(ShellWord.quoted(store.name)). Nothing is merged or "
                    + "pushed until then.")
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
}

func usleepMilliseconds(_ count: UInt32) {
    usleep(count * 1000)
}
