import Git
import Glibc
import SystemPackage

extension Integrator {
    /// Our commits since the common ancestor, oldest first; nil where one of them is a merge, which is nothing that could
    /// be told anew, and without a common ancestor.
    func ownLine(
        from base: ObjectID?, to ours: ObjectID, _ repository: Repository
    ) throws(GitError) -> [CommitInfo]? {
        guard let base else { return nil }
        let line = try repository.log(from: ours, hiding: [base])
        // A message that was not read to its end cannot be told anew either.
        guard line.allSatisfy({ $0.parents.count == 1 && $0.message.utf8.count < CommitInfo.longestMessage }),
            line.last?.parents.first == base
        else { return nil }
        return line.reversed()
    }

    /// Our commits, one after the other, as if each had been made on the remote's tip: a merge of what each changed,
    /// with its author and its words. One that has nothing left to change is left out.
    ///
    /// In memory, as a merge; the branch goes there in one step.
    nonisolated(nonsending) func rebase(
        _ line: [CommitInfo], _ ours: ObjectID, _ theirs: ObjectID, _ session: RemoteSession
    ) async throws(SyncFailure) -> Merge {
        var merge = Merge(
            ours: ours, theirs: theirs, result: theirs, subject: "Rebase onto \(session.target.branch)")
        for commit in line {
            let plan = try plan(commit.id, merge.result, base: commit.parents.first, session)
            let outcomes = try await merged(plan)
            try telling("cannot rebase") { () throws(GitError) in
                try replay(commit, plan, outcomes, &merge, session.part)
            }
        }
        return merge
    }

    private func replay(
        _ commit: CommitInfo, _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ merge: inout Merge,
        _ part: RepositoryPart
    ) throws(GitError) {
        let repository = part.repository
        let (tree, conflicts) = try mergedTree(plan, outcomes, part)
        guard try repository.commitInfo(merge.result).tree != tree else { return }
        let (_, committer) = try repository.signatures()
        merge.result = try repository.makeCommit(
            tree: tree, parents: [merge.result], message: commit.message + Self.message(of: conflicts),
            author: commit.author, committer: committer, sign: try state.signer(of: repository, as: committer)
        )
        merge.conflicts += conflicts
    }
}
