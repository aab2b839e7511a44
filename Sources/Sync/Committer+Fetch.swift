import Git
import Glibc
import Stores
import Synchronization
import SystemPackage

/// Fetches of one branch: what came is looked at before it counts as seen.
extension Committer {
    /// Whether the remote's name stands for another URL than the one that was last fetched from.
    func isOtherRemote(_ target: SyncTarget) throws(SyncFailure) -> Bool {
        guard let last = store.fact(target.fact("remote")) else { return false }
        return try !Self.areSame(last, GitError.withoutPasswords(url(target)))
    }

    /// - Parameter isOther: whether it is another remote than the last time.
    /// - Returns: false when the remote has no such branch, and nobody minds.
    func fetch(_ target: SyncTarget, isOther: Bool = false) async throws(SyncFailure) -> Bool {
        setActivity("fetching")
        let repository = try open(target)
        removeLeftLocks(target, repository)
        // What a fetch brought that was not looked at to its end.
        try? repository.remove(target.incomingRef)
        let before =
            isOther
            ? nil : (try? repository.commit(at: target.knownRef)) ?? (try? known(target, in: repository))
        let asked = try url(target)
        Fault.point("sync.before-fetch")
        let isThere = try await transfer(.fetch, target).isThere
        // What came may be another remote's than the one that was compared.
        guard try url(target) == asked else {
            return try await fetch(target, isOther: isOtherRemote(target))
        }
        if isOther {
            forgetRewriting(target)
            if let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil {
                try? repository.set(target.seenRef, to: seen)
            }
        }
        if !isThere, sync.choice != .ours, let before = before ?? nil {
            throw SyncFailure(
                kind: .passing,
                message:
                    "the branch on \"\(GitError.withoutPasswords(target.remote))\" is gone; it was last seen at "
                    + "\(before.hex.prefix(10)). Nothing is pushed, as somebody may have removed it on purpose. To put it "
                    + "there again, run passdir sync --ours \(ShellWord.quoted(store.name)).")
        }
        if target.nested.isEmpty {
            let now = Int64(time(nil))
            keep(now, as: "lastFetch")
            shared.withLock { $0.status.lastFetch = now }
        }
        if isThere { try takeNote(of: before ?? nil, target, repository) }
        // Now what was seen before was this one's.
        store.remember(GitError.withoutPasswords(asked), as: target.fact("remote"))
        return isThere
    }

    /// What was fetched is known from now on, where it is fit to be: else the branch counts as it was seen before, so that
    /// a later fetch still tells whether it was moved by force.
    private func takeNote(
        of before: ObjectID?, _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) {
        defer { try? repository.remove(target.incomingRef) }
        let fetched: ObjectID?
        let ours: ObjectID?
        do throws(GitError) {
            fetched = try repository.commit(at: target.incomingRef)
            ours = try repository.commit(at: target.localRef)
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
        guard let fetched else { return }
        try checkHistory(fetched, ours: ours, target, repository)
        do throws(GitError) {
            try noteRewriting(target, from: before, to: fetched, in: repository)
            try repository.set(target.knownRef, to: fetched)
            followInGit(target, repository, fetched)
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
    }

    /// A transfer that was killed leaves the locks of our own references behind; nobody else ever takes those. It may
    /// leave that of git's own one, too: it is taken away where it is older than this process, no git program is at
    /// work in the tree, and nobody has it open.
    private func removeLeftLocks(_ target: SyncTarget, _ repository: Repository) {
        if let ref = target.gitRef, let top = repository.workingDirectory, !GitTraffic.isBusy(top) {
            let lock = repository.commonDirectory.pushing(FilePath(ref + ".lock"))
            var facts = stat()
            if lock.withPlatformString({ lstat($0, &facts) }) == 0, facts.st_uid == geteuid(),
                facts.st_mtim.tv_sec <= started, !OpenFiles.include(lock)
            {
                _ = lock.withPlatformString { unlink($0) }
            }
        }
        for ref in [target.knownRef, target.seenRef, target.incomingRef] {
            let lock = repository.commonDirectory.pushing(FilePath(ref + ".lock"))
            var facts = stat()
            guard lock.withPlatformString({ lstat($0, &facts) }) == 0,
                !OpenFiles.include(lock)
            else { continue }
            _ = lock.withPlatformString { unlink($0) }
        }
    }
}
