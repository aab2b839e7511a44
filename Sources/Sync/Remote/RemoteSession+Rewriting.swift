import Git
import Stores

/// A remote branch that was moved by force: what we had from it is no longer in its history.
extension RemoteSession {
    private var fact: String { target.fact("rewritten") }

    /// Compares what a fetch found with what was there before.
    func noteRewriting(from old: ObjectID?, to new: ObjectID?) throws(GitError) {
        // What was seen and never taken in, a refused state say, is not missed.
        guard let seen = old, let ours = try tip(), let old = try repository.mergeBase(ours, seen), let new,
            old != new, try !repository.isAncestor(old, of: new)
        else { return }
        // What was seen first counts, until the user has chosen.
        let first = rewriting?.old ?? old
        store.remember("\(first.hex) \(new.hex)", as: fact)
        memory.rewritings[target.nested] = (first, new)
    }

    /// Merging would bring back what somebody took out on purpose, pushing too: the user decides.
    func checkRewriting(_ ours: ObjectID?, _ theirs: ObjectID) throws(GitError) {
        guard let old = try rewritten(ours, theirs) else { return }
        throw GitError(
            code: .invalid,
            message:
                "the branch on \"\(target.remote)\" was force-pushed: \(old.hex.prefix(10)), which \(place) "
                + "has, is no longer in its history. \(HistoryChoice.advice(for: store.name))")
    }

    /// The commit that this store has from the remote, and the remote no longer; nil when there is none (any more).
    func rewritten(_ ours: ObjectID?, _ theirs: ObjectID) throws(GitError) -> ObjectID? {
        guard let (old, _) = rewriting else { return nil }
        if let ours, ours != theirs, try !repository.isAncestor(old, of: theirs),
            try repository.isAncestor(old, of: ours)
        {
            return old
        }
        forgetRewriting()
        return nil
    }

    func forgetRewriting() {
        store.remember(nil, as: fact)
        memory.rewritings[target.nested] = nil
    }

    private var rewriting: (old: ObjectID, new: ObjectID)? {
        if let last = memory.rewritings[target.nested] { return last }
        let parts = (store.fact(fact) ?? "").split(separator: " ").map(String.init)
        guard parts.count == 2, let old = ObjectID(hex: parts[0]), let new = ObjectID(hex: parts[1]) else {
            return nil
        }
        return (old, new)
    }
}
