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

    /// How the user says which history goes on; no full stop.
    static func advice(for store: String) -> String {
        "To follow it, run passdir sync --theirs \(store); to replace it with this store's history, passdir sync "
            + "--ours \(store). Either keeps the other history on a branch"
    }
}

/// The user's choice for histories that have parted.
extension Integrator {
    /// Does what the user chose for a branch that was moved by force, has another history, or holds what is not taken in;
    /// every other is left to `integrate`. The remote was asked just now.
    /// - Parameter commit: commits what waits.
    /// - Returns: what became of it, as a sentence without a full stop; nil where there was nothing to choose.
    nonisolated(nonsending) func choose(
        _ choice: HistoryChoice, _ session: RemoteSession, commit: () -> Void
    ) async throws(SyncFailure) -> String? {
        var kept: (commit: ObjectID, branch: String)?
        for _ in 0..<50 {
            let histories = try telling("cannot compare the histories") { () throws(GitError) in
                try partedHistories(session, choice)
            }
            guard let (ours, theirs) = histories else { return nil }
            switch choice {
            case .ours:
                let branch = try keep(theirs, of: "theirs", session)
                try await session.push(replacing: theirs)
                session.forgetRewriting()
                return told(
                    "the remote now has this store's history; its own is kept here on the branch \(branch)",
                    session)
            case .theirs:
                try session.reopen()
                if kept?.commit != ours { kept = (ours, try keep(ours, of: "ours", session)) }
                if let kept, try follow(session, ours, theirs, commit) {
                    await tellOfRecipients()
                    return told(
                        "now follows the remote; this store's own history is kept on the branch \(kept.branch)",
                        session)
                }
            }
            commit()
        }
        throw SyncFailure(
            kind: .passing, message: "cannot follow the remote because the store keeps changing.")
    }

    /// As `choose`, for a branch that cannot be read: ours goes in its place, and nothing of it can be kept.
    nonisolated(nonsending) func replaceUnsound(
        _ session: RemoteSession
    ) async throws(SyncFailure) -> String? {
        guard let theirs = try await session.ask() else {
            try await session.push(isThere: false)
            return nil
        }
        try await session.push(replacing: theirs)
        session.forgetRewriting()
        return told(
            "the remote now has this store's history; its own, \(theirs.hex.prefix(10)), could not be read and "
                + "is not kept",
            session)
    }

    private func partedHistories(
        _ session: RemoteSession, _ choice: HistoryChoice
    ) throws(GitError) -> (ours: ObjectID, theirs: ObjectID)? {
        guard let theirs = try session.known(), let ours = try session.tip(), ours != theirs else {
            return nil
        }
        if try session.rewritten(ours, theirs) != nil { return (ours, theirs) }
        guard let base = try session.repository.mergeBase(ours, theirs) else { return (ours, theirs) }
        // What others pushed on top and must not be placed here can be left out of the branch again, and not followed.
        guard choice == .ours, base != theirs else { return nil }
        do throws(SyncFailure) {
            try session.checkIncoming(theirs, known: [ours, base])
            return nil
        } catch {
            guard case .lasting = error.kind else {
                throw GitError(code: .other, message: String(error.message.dropLast()))
            }
            return (ours, theirs)
        }
    }

    /// False: something changed under it, all again.
    private func follow(
        _ session: RemoteSession, _ ours: ObjectID, _ theirs: ObjectID, _ commit: () -> Void
    ) throws(SyncFailure) -> Bool {
        try session.refuseUnfinished()
        try session.checkHistory(theirs, ours: ours)
        try session.checkIncoming(theirs, known: [ours])
        let merge = Merge(ours: ours, theirs: theirs, result: theirs, subject: "Follow the remote")
        guard try takeIn(merge, session, commit) else { return false }
        session.forgetRewriting()
        session.followInGit(theirs, isForced: true)
        return true
    }

    /// Makes a branch that keeps a history.
    private func keep(
        _ commit: ObjectID, of side: String, _ session: RemoteSession
    ) throws(SyncFailure) -> String {
        let name = "passdir-\(side)-\(ConflictName.stamp(Int64(time(nil))))"
        let repository = session.repository
        return try telling("cannot create a branch") { () throws(GitError) in
            let (_, who) = try repository.signatures()
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
            throw GitError(code: .invalid, message: "there are already a hundred branches named \(name)")
        }
    }

    private func told(_ sentence: String, _ session: RemoteSession) -> String {
        let nested = session.target.nested
        let whole = (nested.isEmpty ? "" : "\(nested): ") + sentence
        log.notice("\(whole)")
        return whole
    }
}
