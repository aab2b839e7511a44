import Git
import Glibc
import Stores
import System
import SystemPackage

/// Fetches of one branch: what came is looked at before it counts as seen.
extension RemoteSession {
    /// - Parameters:
    ///   - isOther: whether it is another remote than the last time.
    ///   - mayBeGone: nobody minds that a branch that was there is gone: the store's goes in its place.
    /// - Returns: false when the remote has no such branch, and nobody minds.
    nonisolated(nonsending) func fetch(
        isOther: Bool = false, mayBeGone: Bool = false
    ) async throws(SyncFailure) -> Bool {
        state.setActivity("fetching")
        removeLeftLocks()
        // What a fetch brought that was not looked at to its end.
        try? repository.remove(target.incomingRef)
        let before =
            isOther ? nil : (try? repository.commit(at: target.knownRef)) ?? (try? known()) ?? nil
        let asked = url
        Fault.point("sync.before-fetch")
        let isThere = try await transfer(.fetch).isThere
        // What came may be another remote's than the one that was compared.
        guard url == asked else { return try await fetch(isOther: isOtherRemote, mayBeGone: mayBeGone) }
        if isOther {
            forgetRewriting()
            noteSeenByGit()
        }
        if !isThere, !mayBeGone, let before {
            throw SyncFailure(
                kind: .passing,
                message:
                    "the branch on \"\(GitError.withoutPasswords(target.remote))\" is gone; it was last seen at "
                    + "\(before.hex.prefix(10)). Nothing is pushed, as someone may have deleted it on purpose. "
                    + "To restore it, run passdir sync --ours \(ShellWord.quoted(store.name)).")
        }
        if target.nested.isEmpty {
            let now = Int64(time(nil))
            state.keep(now, as: "lastFetch")
            state.withLock { $0.status.lastFetch = now }
        }
        if isThere { try takeNote(of: before) }
        // Now what was seen before was this one's.
        store.remember(GitError.withoutPasswords(asked), as: target.fact("remote"))
        return isThere
    }

    /// What was fetched is known from now on, where it is fit to be: else the branch counts as it was seen before, so that
    /// a later fetch still tells whether it was moved by force.
    private func takeNote(of before: ObjectID?) throws(SyncFailure) {
        defer { try? repository.remove(target.incomingRef) }
        let doing = "cannot read what was fetched"
        let (fetched, ours) = try telling(doing) { () throws(GitError) in
            (try repository.commit(at: target.incomingRef), try tip())
        }
        guard let fetched else { return }
        try checkHistory(fetched, ours: ours)
        try telling(doing) { () throws(GitError) in
            try noteRewriting(from: before, to: fetched)
            try repository.set(target.knownRef, to: fetched)
            followInGit(fetched)
        }
    }

    /// A transfer that was killed leaves the locks of our own references behind; nobody else ever takes those. It may
    /// leave that of git's own one, too: it is taken away where it is older than this process, no git program is at
    /// work in the tree, and nobody has it open.
    private func removeLeftLocks() {
        if let ref = target.gitRef, !GitTraffic.isBusy(part.top) {
            removeLeftLock(of: ref) { $0.st_uid == geteuid() && $0.st_mtim.tv_sec <= state.started }
        }
        for ref in [target.knownRef, target.seenRef, target.incomingRef] {
            removeLeftLock(of: ref) { _ in true }
        }
    }

    private func removeLeftLock(of ref: String, where isLeft: (stat) -> Bool) {
        let lock = repository.commonDirectory.pushing(FilePath(ref + ".lock"))
        guard let facts = lock.facts(), isLeft(facts), !OpenFiles.include(lock) else { return }
        lock.unlink()
    }
}
