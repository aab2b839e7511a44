import CLinux
import Git
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Looks at the repositories: mends what a crash left half done, finds what was saved but never committed, brings
    /// store and remote together, and does so regularly from then on.
    public func start() async {
        let hasRepository = recoverOnce()
        // Comparing everything with the index took more memory than all that follows.
        passdir_return_freed_memory()
        guard hasRepository else { return }
        Task { await self.synchronizeRegularly() }
        await synchronize(options.interval == nil ? .push : .everything)
    }

    /// Whether there is a repository to go on with. Once a process: at the start, or at the end of a mount that ended
    /// before anything started.
    @discardableResult
    func recoverOnce() -> Bool {
        if let hasRepository { return hasRepository }
        let before = shared.withLock { $0.pending.count }
        do throws(GitError) {
            let own = try ownRepository()
            if let own {
                refreshStatus(own.repository)
            } else {
                shared.withLock { $0.status.state = .noRepository }
            }
            for share in (own.map { [$0] } ?? []) + nestedRepositories() { try recover(share) }
            hasRepository = own != nil
        } catch {
            shared.withLock { shared in
                shared.status.state = .noCommits
                shared.commitError =
                    "commits are off for this store because \(error.message): reading and saving work."
            }
            log.warning("\(error.message)")
            hasRepository = false
            return false
        }
        // What was saved just now waits its time.
        if shared.withLock({ $0.pending.count }) > before { commitPending() }
        return hasRepository ?? false
    }

    private func recover(_ share: Share) throws(GitError) {
        try mend(share)
        try noteUncommitted(share)
    }

    /// A commit or merge that was interrupted: what its note names is brought back to the branch in the index, and
    /// committed as the working tree has it.
    func mend(_ share: Share) throws(GitError) {
        let repository = share.repository
        guard let left = CommitJournal.left(in: repository.gitDirectory) else { return }
        let head = try repository.head()
        var ref: String?
        if case .branch(_, let name, _) = head { ref = name }
        CommitJournal.removeLeftLocks(
            top: share.top, gitDirectory: repository.gitDirectory,
            commonDirectory: repository.commonDirectory, ref: ref,
            since: left.time)
        if case .branch(_, _, let commit?) = head {
            for attempt in 0..<100 {
                do throws(GitError) {
                    try repository.updateIndex(paths: left.paths, to: commit)
                    break
                } catch {
                    guard error.code == .locked, attempt < 99 else { throw error }
                    usleepMilliseconds(20)
                }
            }
        }
        for path in left.paths { note(.saved(share.inStore(path))) }
        left.remove()
    }

    /// Secrets in the working tree that are not as in the newest commit. What the user has staged is the user's.
    private func noteUncommitted(_ share: Share) throws(GitError) {
        // What a change of recipients that was killed has put in place is that change's to commit or to take back.
        let inChange = Reencryption.paths(underWayIn: store)
        for change in try settledChanges(share)
        where change.unstaged && !change.alsoStaged && change.kind != .conflicted {
            let path = share.inStore(change.path)
            guard let name = path.lastComponent?.string, name.hasSuffix(".gpg") || name == ".gpg-id",
                !name.hasPrefix(Store.temporaryPrefix), !inChange.contains(path)
            else { continue }
            note(change.kind == .deleted ? .removed(path) : .saved(path))
        }
    }

    /// What `git status` lists while no git program is at work: in the middle of a checkout it would list files that
    /// nobody edited, and committing them would put them onto the wrong branch.
    private func settledChanges(_ share: Share) throws(GitError) -> [WorkingTreeChange] {
        var changes: [WorkingTreeChange] = []
        for _ in 0..<20 {
            GitTraffic.waitForQuiet(in: share.top)
            let head = try share.repository.head()
            changes = try share.repository.changes(under: share.prefix.isEmpty ? nil : share.prefix)
            if changes.isEmpty { break }
            let isSettled = try share.repository.head() == head
            if isSettled, !GitTraffic.isBusy(share.top) { break }
        }
        return changes
    }
}
