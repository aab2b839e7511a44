import Git
import Glibc
import SystemPackage

extension Committer {
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
    func rebase(
        _ line: [CommitInfo], _ ours: ObjectID, _ theirs: ObjectID, _ target: SyncTarget,
        _ repository: Repository
    ) async throws(SyncFailure) -> Merge {
        var merge = Merge(ours: ours, theirs: theirs, result: theirs, subject: "Rebase onto \(target.branch)")
        for commit in line {
            let plan = try plan(repository, base: commit.parents.first, commit.id, merge.result)
            let outcomes = try await settle(plan, target)
            do throws(GitError) {
                try replay(commit, plan, outcomes, &merge, repository)
            } catch {
                throw SyncFailure(kind: .passing, message: "cannot rebase: \(error.message).")
            }
        }
        return merge
    }

    private func replay(
        _ commit: CommitInfo, _ plan: MergePlan, _ outcomes: [SecretMerge.Outcome], _ merge: inout Merge,
        _ repository: Repository
    ) throws(GitError) {
        let (tree, conflicts) = try mergedTree(plan, outcomes, repository)
        guard try repository.commitInfo(merge.result).tree != tree else { return }
        let (_, committer) = try signatures(repository, changed: 0)
        merge.result = try repository.makeCommit(
            tree: tree, parents: [merge.result], message: commit.message + Self.message(of: conflicts),
            author: commit.author, committer: committer, sign: try signer(repository, committer))
        merge.conflicts += conflicts
    }
}
