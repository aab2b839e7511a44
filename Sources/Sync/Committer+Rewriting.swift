import Git
import Stores
import SystemPackage

/// A remote branch that was moved by force: what we had from it is no longer in its history.
extension Committer {
    private func fact(_ target: SyncTarget) -> String { target.fact("rewritten") }

    /// Compares what a fetch found with what was there before.
    func noteRewriting(
        _ target: SyncTarget, from old: ObjectID?, to new: ObjectID?, in repository: Repository
    ) throws(GitError) {
        guard let old, let new, old != new, try !repository.isAncestor(old, of: new) else { return }
        // What was seen first counts, until it is settled.
        let known = rewriting(target)
        store.remember("\((known?.old ?? old).hex) \(new.hex)", as: fact(target))
        lastRewriting[target.nested] = ((known?.old ?? old), new)
    }

    /// Merging would bring back what somebody took out on purpose, pushing too: the user decides.
    func checkRewriting(
        _ target: SyncTarget, _ ours: ObjectID?, _ theirs: ObjectID, in repository: Repository
    ) throws(GitError) {
        guard let (old, _) = rewriting(target) else { return }
        var isSettled = ours == nil || ours == theirs
        if let ours, !isSettled {
            let isBack = try repository.isAncestor(old, of: theirs)
            let isGone = try !repository.isAncestor(old, of: ours)
            isSettled = isBack || isGone
        }
        if isSettled {
            store.remember(nil, as: fact(target))
            lastRewriting[target.nested] = nil
            return
        }
        throw GitError(
            code: .invalid,
            message:
                "the branch on \"\(target.remote)\" was moved by force: \(old.hex.prefix(10)), which this store has, "
                + "is no longer in its history. To follow it, run git reset --hard \(theirs.hex.prefix(10)) in "
                + "\(store.root.path.pushing(target.nested)); to put our history there again, run git push --force"
        )
    }

    private func rewriting(_ target: SyncTarget) -> (old: ObjectID, new: ObjectID)? {
        if let last = lastRewriting[target.nested] { return last }
        let parts = (store.fact(fact(target)) ?? "").split(separator: " ").map(String.init)
        guard parts.count == 2, let old = ObjectID(hex: parts[0]), let new = ObjectID(hex: parts[1]) else {
            return nil
        }
        return (old, new)
    }
}
