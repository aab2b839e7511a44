import Git
import Glibc
import Logging
import Stores
import SystemPackage

/// Which history goes on where a remote's branch was moved by force, or has another history than the store.
public enum HistoryChoice: String, Sendable, Codable, CaseIterable {
    /// The remote's; what the store has is kept on a branch.
    case theirs
    /// The store's; what the remote has is kept on a branch.
    case ours
}

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
        guard let old = try unsettledRewriting(target, ours, theirs, in: repository) else { return }
        throw GitError(
            code: .invalid,
            message:
                "the branch on \"\(target.remote)\" was moved by force: \(old.hex.prefix(10)), which "
                + "\(store.root.path.pushing(target.nested)) has, is no longer in its history. \(Self.choices(of: store.name))"
        )
    }

    /// How the user says which history goes on.
    static func choices(of store: String) -> String {
        "To follow it, run passdir sync --theirs \(store); to put this store's history in its place, passdir sync "
            + "--ours \(store). Either keeps the other history on a branch"
    }

    /// The commit that this store has from the remote, and the remote no longer; nil when there is none (any more).
    private func unsettledRewriting(
        _ target: SyncTarget, _ ours: ObjectID?, _ theirs: ObjectID, in repository: Repository
    ) throws(GitError) -> ObjectID? {
        guard let (old, _) = rewriting(target) else { return nil }
        var isSettled = ours == nil || ours == theirs
        if let ours, !isSettled {
            let isBack = try repository.isAncestor(old, of: theirs)
            let isGone = try !repository.isAncestor(old, of: ours)
            isSettled = isBack || isGone
        }
        guard isSettled else { return old }
        forgetRewriting(target)
        return nil
    }

    func forgetRewriting(_ target: SyncTarget) {
        store.remember(nil, as: fact(target))
        lastRewriting[target.nested] = nil
    }

    private func rewriting(_ target: SyncTarget) -> (old: ObjectID, new: ObjectID)? {
        if let last = lastRewriting[target.nested] { return last }
        let parts = (store.fact(fact(target)) ?? "").split(separator: " ").map(String.init)
        guard parts.count == 2, let old = ObjectID(hex: parts[0]), let new = ObjectID(hex: parts[1]) else {
            return nil
        }
        return (old, new)
    }

    // MARK: the user's choice

    /// Does what the user chose for a branch that was moved by force, has another history, or holds what is not taken in;
    /// every other is left to `integrate`. The remote was asked just now.
    func choose(_ choice: HistoryChoice, _ target: SyncTarget) async throws(SyncFailure) {
        var kept: (commit: ObjectID, branch: String)?
        for _ in 0..<50 {
            let repository = try open(target)
            let histories: (ours: ObjectID, theirs: ObjectID)?
            do throws(GitError) {
                histories = try partedHistories(target, repository, choice)
            } catch {
                throw SyncFailure(kind: .passing, message: "cannot compare the histories: \(error.message).")
            }
            guard let (ours, theirs) = histories else { return }
            switch choice {
            case .ours: return try await replaceTheirs(target, ours, theirs)
            case .theirs:
                if kept?.commit != ours {
                    kept = (ours, try keep(ours, of: "ours", target, repository))
                }
                if let kept, try followTheirs(target, ours, theirs) {
                    note(
                        choice:
                            "follows the remote; what this store had is kept on the branch \(kept.branch)",
                        target)
                    return await tellOfNewRecipients()
                }
            }
            commitPending()
        }
        throw SyncFailure(
            kind: .passing, message: "the remote is not followed because the store changes all the time.")
    }

    private func partedHistories(
        _ target: SyncTarget, _ repository: Repository, _ choice: HistoryChoice
    ) throws(GitError) -> (ours: ObjectID, theirs: ObjectID)? {
        guard let theirs = try known(target, in: repository),
            let ours = try repository.commit(at: target.localRef), ours != theirs
        else { return nil }
        if try unsettledRewriting(target, ours, theirs, in: repository) != nil { return (ours, theirs) }
        guard let base = try repository.mergeBase(ours, theirs) else { return (ours, theirs) }
        // What others pushed on top and must not be placed here can be left out of the branch again, and not followed.
        guard choice == .ours, base != theirs else { return nil }
        do throws(SyncFailure) {
            try checkIncoming(theirs, known: [ours, base], target, repository)
            return nil
        } catch {
            guard case .lasting = error.kind else {
                throw GitError(code: .other, message: String(error.message.dropLast()))
            }
            return (ours, theirs)
        }
    }

    /// False: something changed under it, all again.
    private func followTheirs(
        _ target: SyncTarget, _ ours: ObjectID, _ theirs: ObjectID
    ) throws(SyncFailure) -> Bool {
        let repository = try open(target)
        try refuseUnfinished(target, repository)
        try checkHistory(theirs, ours: ours, target, repository)
        try checkIncoming(theirs, known: [ours], target, repository)
        let merge = Merge(ours: ours, theirs: theirs, result: theirs, subject: "Follow the remote")
        guard try bringIn(merge, target, repository) else { return false }
        forgetRewriting(target)
        followInGit(target, repository, theirs, isForced: true)
        return true
    }

    private func replaceTheirs(
        _ target: SyncTarget, _ ours: ObjectID, _ theirs: ObjectID
    ) async throws(SyncFailure) {
        let branch = try keep(theirs, of: "theirs", target, try open(target))
        try await push(target, replacing: theirs)
        forgetRewriting(target)
        note(
            choice:
                "the remote has this store's history again; what it had is kept here on the branch \(branch)",
            target)
    }

    /// As `choose`, for a branch that cannot be read: ours goes in its place, and nothing of it can be kept.
    func replaceUnsound(_ target: SyncTarget) async throws(SyncFailure) {
        commitPending()
        guard let theirs = try await ask(target) else { return try await push(target, isThere: false) }
        try await push(target, replacing: theirs)
        forgetRewriting(target)
        note(
            choice:
                "the remote has this store's history again; what it had, \(theirs.hex.prefix(10)), could not be read, and "
                + "is not kept",
            target)
    }

    /// Makes a branch that keeps a history.
    private func keep(
        _ commit: ObjectID, of side: String, _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) -> String {
        let name = "passdir-\(side)-\(ConflictName.stamp(Int64(time(nil))))"
        do throws(GitError) {
            let (_, who) = try signatures(repository, changed: 0)
            for attempt in 0..<100 {
                let branch = attempt == 0 ? name : "\(name)-\(attempt)"
                let ref = "refs/heads/\(branch)"
                if let there = try repository.commit(at: ref) {
                    if there == commit { return branch }
                    continue
                }
                try repository.move(ref, from: nil, to: commit, as: who, "passdir sync")
                return branch
            }
            throw GitError(code: .invalid, message: "there are a hundred branches named \(name) already")
        } catch {
            throw SyncFailure(kind: .passing, message: "no branch can be made: \(error.message).")
        }
    }

    private func note(choice sentence: String, _ target: SyncTarget) {
        let place = target.nested.isEmpty ? "" : "\(target.nested): "
        log.notice("\(place)\(sentence)")
        sync.chosen.append(place + sentence)
    }
}
