import Git
import Glibc
import Stores
import System
import SystemPackage

/// Merges, computed from trees, in memory.
extension Integrator {
    /// What two histories have changed since they parted.
    struct MergePlan {
        var ours: ObjectID
        var theirs: ObjectID
        var changes: TreeMerge
        /// One for each collision.
        var secrets: [SecretMerge]
    }

    nonisolated(nonsending) func merge(
        _ ours: ObjectID, _ theirs: ObjectID, base: ObjectID?, _ session: RemoteSession
    ) async throws(SyncFailure) -> Merge {
        let plan = try self.plan(ours, theirs, base: base, session)
        let outcomes = try await merged(plan)
        return try telling("cannot merge") { () throws(GitError) in try write(plan, outcomes, session) }
    }

    /// - Throws: what only the user can settle.
    func plan(
        _ ours: ObjectID, _ theirs: ObjectID, base: ObjectID?, _ session: RemoteSession
    ) throws(SyncFailure) -> MergePlan {
        let (target, place) = (session.target, session.place)
        guard let base else {
            throw SyncFailure(
                kind: .lasting,
                message:
                    "the remote \"\(target.remote)\" has a history unrelated to this store's, as if the "
                    + "repository had been replaced: nothing is merged or pushed. "
                    + "\(HistoryChoice.advice(for: store.name)); to join the "
                    + "two, run git merge --allow-unrelated-histories in \(place).")
        }
        let (plan, parted) = try telling("cannot merge") { () throws(GitError) in
            let repository = session.repository
            let changes = TreeMerge(
                ours: try repository.differences(from: base, to: ours),
                theirs: try repository.differences(from: base, to: theirs))
            let lists = MergedLists(changes, ours: ours, session.part)
            let secrets = try changes.collisions.map { (collision) throws(GitError) in
                SecretMerge(
                    store: store, path: session.part.inStore(collision.path),
                    repository: repository.gitDirectory, collision: collision,
                    list: try lists.list(for: collision.path))
            }
            let plan = MergePlan(ours: ours, theirs: theirs, changes: changes, secrets: secrets)
            return (plan, try partedList(plan, session.part))
        }
        if let parted {
            throw SyncFailure(
                kind: .lasting,
                message:
                    "\(session.part.inStore(parted)) was changed here and on the remote \"\(target.remote)\": "
                    + "settle whom to encrypt to with passdir recipients settle "
                    + "\(ShellWord.quoted(store.name)). Nothing is merged or pushed until then.")
        }
        return plan
    }

    /// What becomes of each collision; waits for keys.
    nonisolated(nonsending) func merged(
        _ plan: MergePlan
    ) async throws(SyncFailure) -> [SecretMerge.Outcome] {
        let (merges, state) = (plan.secrets, state)
        let outcomes = await PosixThread.run(named: "merge") {
            merges.map { state.isOutOfTime ? .later("passdir exits") : $0.run() }
        }
        let refused = outcomes.compactMap {
            if case .refused(let reason) = $0 { ("encrypted", reason) } else { nil }
        }
        let locked = outcomes.compactMap {
            if case .later(let reason) = $0 { ("decrypted", reason) } else { nil }
        }
        guard let (done, reason) = (refused + locked).first else { return outcomes }
        throw SyncFailure(
            kind: .passing,
            message:
                "the remote's changes are pending because a secret that both sides changed cannot be \(done) "
                + "now: \(reason)."
        )
    }

    /// The tree that holds what both sides changed, and the names, relative to the store, that our versions have where
    /// both stay.
    func mergedTree(
        _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ part: RepositoryPart
    ) throws(GitError) -> (tree: ObjectID, conflicts: [FilePath]) {
        var merged = MergedFiles(
            ours: plan.ours, theirs: plan.theirs, now: Int64(time(nil)), in: part.repository)
        for edit in plan.changes.edits { try merged.put(edit.item, at: edit.path) }
        for (collision, outcome) in zip(plan.changes.collisions, outcomes) {
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
        let tree = try part.repository.tree(of: plan.ours, edited: merged.edits)
        return (tree, merged.conflicts.map(part.inStore))
    }

    /// What a commit says of conflicts.
    static func message(of conflicts: [FilePath]) -> String {
        guard !conflicts.isEmpty else { return "" }
        return "\nChanged on both sides, our versions are kept as:\n"
            + conflicts.map { "- \($0)\n" }.joined()
    }

    private func write(
        _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ session: RemoteSession
    ) throws(GitError) -> Merge {
        let (tree, names) = try mergedTree(plan, outcomes, session.part)
        let (repository, branch) = (session.repository, session.target.branch)
        let message =
            "Merge branch '\(branch)' of \(GitError.withoutPasswords(session.url))\n"
            + Self.message(of: names)
        let (author, committer) = try repository.signatures()
        let commit = try repository.makeCommit(
            tree: tree, parents: [plan.ours, plan.theirs], message: message, author: author,
            committer: committer, sign: try state.signer(of: repository, as: committer))
        return Merge(
            ours: plan.ours, theirs: plan.theirs, result: commit, conflicts: names,
            subject: "Merge branch '\(branch)'")
    }
}
