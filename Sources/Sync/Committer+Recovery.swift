import CLinux
import Git
import Glibc
import Logging
import Stores
import Synchronization
import System
import SystemPackage

extension Committer {
    /// Looks at the repositories: mends what a crash left half done, finds what was saved but never committed, brings
    /// store and remote together, and does so regularly from then on.
    public func start() async {
        let hasRepository = mendOnce()
        guard !shared.withLock({ $0.hasLeft }) else { return }
        if hasRepository, regular == nil { exchangeRegularly() }
        if !hasLooked, await !lookForUncommitted() { Task { await self.lookAgain() } }
        // Comparing everything with the index took more memory than all that follows.
        passdir_return_freed_memory()
        guard hasRepository else { return }
        await synchronize(options.interval == nil ? .push : .everything)
    }

    /// The store has a repository that it did not have before: what lies in it uncommitted is committed as at the start of a
    /// mount. Whoever makes one may be about to do that, and has as much time for it as changes have to gather.
    func startAnew() async {
        (hasRepository, hasLooked) = (nil, false)
        try? await Task.sleep(for: options.delay)
        guard !shared.withLock({ $0.isFinishing }) else { return }
        await start()
    }

    /// Whether there is a repository to go on with. Once a process: at the start, or at the end of a mount that ended
    /// before anything started.
    func mendOnce() -> Bool {
        if let hasRepository { return hasRepository }
        do throws(GitError) {
            let own = try ownRepository()
            if let own {
                refreshStatus(own.repository)
            } else {
                noteMissingRepository()
            }
            for share in repositories(own) {
                try mend(share)
                share.repository.removeLeftReferenceLocks()
                removeLeftPacks(share.repository)
            }
            hasRepository = own != nil || shared.withLock { !$0.nestedTops.isEmpty }
        } catch {
            complain(error)
            hasRepository = false
            hasLooked = true
        }
        return hasRepository ?? false
    }

    /// The store has no repository of its own that is opened; where there is one that is not, `status` says why.
    nonisolated func noteMissingRepository() {
        let repositories = store.repositories
        let note =
            repositories.reasonToLeaveTopAlone
            ?? repositories.outer.map {
                "the store lies in the repository \($0), which passdir leaves alone: nothing is committed"
            }
        shared.withLock {
            $0.seen = nil
            $0.status.state = .noRepository
            $0.status.branch = nil
            $0.status.notes = [note].compactMap(\.self)
        }
    }

    func repositories(_ own: Share?) -> [Share] { (own.map { [$0] } ?? []) + nestedRepositories() }

    private func complain(_ error: GitError) {
        shared.withLock { shared in
            shared.status.state = .noCommits
            shared.commitError =
                "commits are off for this store because \(error.message): reading and saving work."
        }
        log.warning("\(error.message)")
    }

    /// For a mount that ends: what the start has not come to.
    func recoverAtEnd() {
        guard options.recovers else { return }
        _ = mendOnce()
        guard !hasLooked, let shares = try? repositories(ownRepository()) else { return }
        for share in shares { _ = take(UncommittedLook(share).result(), share) }
    }

    // MARK: what was never committed

    /// Notes what lies uncommitted in the working trees. Comparing 100,000 files takes seconds, minutes on a slow disk:
    /// that happens on a thread of its own, and what is saved meanwhile is committed meanwhile.
    /// - Returns: false when git programs or others were at work, so that it must be done again.
    func lookForUncommitted() async -> Bool {
        // One at a time; who asks meanwhile wants to know of what has come since it began.
        while let running = look { _ = await running.value }
        let task = Task {
            let isSettled = await self.lookNow()
            // Here, before those who wait go on: an ended look would be waited for without a pause.
            self.look = nil
            return isSettled
        }
        look = task
        return await task.value
    }

    private func lookNow() async -> Bool {
        guard let shares = try? repositories(ownRepository()) else { return false }
        var isSettled = true
        defer { ownMoves = nil }
        let before = shared.withLock { shared in
            shared.staged = []
            return shared.pending.count
        }
        for share in shares {
            ownMoves = [:]
            let look = UncommittedLook(share)
            let result = await PosixThread.run(named: "recovery") { look.result() }
            if !take(result, share) { isSettled = false }
        }
        hasLooked = isSettled
        // What was saved just now waits its time.
        if shared.withLock({ $0.pending.count }) > before { commitPending() }
        return isSettled
    }

    /// Looks until nobody disturbs it: what lies there uncommitted must not wait for another crash to be found.
    func lookAgain() async {
        var wait = Duration.seconds(1)
        while !shared.withLock({ $0.isFinishing }) {
            try? await Task.sleep(for: wait)
            guard !shared.withLock({ $0.isFinishing }) else { return }
            if await lookForUncommitted() {
                await synchronize(.push)
                return
            }
            wait = min(wait * 2, .seconds(60))
        }
    }

    /// Secrets in the working tree that are not as in the newest commit. What the user has staged is the user's.
    /// - Returns: false when the look tells nothing, because others were at work.
    private func take(_ result: UncommittedLook.Result, _ share: Share) -> Bool {
        switch result {
        case .disturbed: return false
        case .failed(let error):
            log.warning("\(error.message)")
            shared.withLock {
                $0.lookError =
                    "what lies uncommitted in the store cannot be looked for because \(error.message)."
            }
            return true
        case .found(let changes, let refused, let before, let after):
            guard moved(from: before, to: after) else { return false }
            shared.withLock { $0.lookError = nil }
            note(ignored: changes, share)
            note(refused: refused, share, after)
            note(staged: changes, share)
            // What a change of recipients that was killed has put in place is that change's to commit or to take back.
            let inChange = Reencryption.paths(underWayIn: store)
            for change in changes where change.unstaged && !change.alsoStaged && change.kind != .conflicted {
                let path = share.inStore(change.path)
                guard let name = path.lastComponent, path.isCommitted || change.isLink,
                    !VisibleName.isHidden(name), !inChange.contains(path)
                else { continue }
                // git may have taken a file away for a moment: what is missing is decided when it is committed.
                noteFound(.saved(path))
            }
            return true
        }
    }

    private func note(staged changes: [WorkingTreeChange], _ share: Share) {
        let found = changes.filter { change in
            (change.alsoStaged || change.kind == .conflicted) && change.path.isCommitted
        }
        shared.withLock { $0.staged.formUnion(found.map { share.inStore($0.path) }) }
    }

    /// `status` names what was staged when it was last looked for, as long as it is.
    nonisolated func forgetWhatIsNotStaged() {
        let staged = shared.withLock { $0.staged }
        guard !staged.isEmpty else { return }
        for top in Set(staged.map(store.repositories.around)) {
            guard let top, let share = try? repository(at: top) else { continue }
            let paths = staged.filter { store.repositories.around($0) == top }.compactMap { path in
                var path = path
                return top.isEmpty || path.removePrefix(top) ? path : nil
            }
            guard let still = try? share.repository.staged(of: Set(paths)) else { continue }
            let gone = Set(paths).subtracting(still).map(share.inStore)
            shared.withLock { $0.staged.subtract(gone) }
        }
    }

    /// What is not in step because the user has staged it; nil when there is nothing.
    nonisolated func stagedSentence(_ staged: Set<FilePath>) -> String? {
        guard !staged.isEmpty else { return nil }
        let names = staged.map(\.string).sorted()
        let more = names.count > 5 ? " and \(names.count - 5) more" : ""
        return
            "staged or in conflict in git, and left to you: \(names.prefix(5).joined(separator: ", "))\(more); "
            + "run git commit, or git restore --staged, in \(store.root.path)."
    }

    /// Whether only commits of ours lie between two states of HEAD.
    private func moved(from before: Head, to after: Head) -> Bool {
        if before == after { return true }
        guard case .branch(_, let ref, let start) = before, case .branch(_, ref, let end?) = after else {
            return false
        }
        var tip = start
        while let commit = tip, commit != end { tip = ownMoves?[commit] }
        return tip == end
    }

    /// Packs that a killed commit or transfer had begun: libgit2's temporary names, which `git gc` does not know. As git
    /// does with its own, those of today are left alone: whoever writes one need not have it open all the time.
    private func removeLeftPacks(_ repository: Repository) {
        let folder = repository.commonDirectory.pushing("objects/pack")
        for name in DirectoryStream.names(in: folder) where name.hasPrefix("pack_git2_") {
            let path = folder.appending(name)
            var facts = stat()
            guard path.withPlatformString({ lstat($0, &facts) }) == 0, facts.st_uid == geteuid(),
                facts.st_mode & S_IFMT == S_IFREG, facts.st_mtim.tv_sec < Glibc.time(nil) - 86_400
            else { continue }
            _ = path.withPlatformString { unlink($0) }
        }
    }

    /// A commit or merge that was interrupted: what its note names is brought back to the branch in the index, and
    /// committed as the working tree has it.
    /// - Parameter noted: paths that the caller is about to commit anyway.
    func mend(_ share: Share, noted: [FilePath] = []) throws(GitError) {
        let repository = share.repository
        guard let left = CommitJournal.left(in: repository.gitDirectory) else { return }
        repository.removeLeftLocks()
        CommitJournal.removeLeftFiles(top: share.top)
        for attempt in 0..<100 {
            do throws(GitError) {
                if try repository.repairIndex() {
                    log.warning(
                        "the index of git in \(share.top) was lost with the power; the one before is back")
                }
                let head = try repository.head()
                guard case .branch(_, _, let commit?) = head else { break }
                try repository.updateIndex(paths: left.paths, to: commit)
                // Moved meanwhile, the index would take back what the new tip has.
                if try repository.head() == head { break }
            } catch {
                guard error.code == .locked, attempt < 99 else { throw error }
                usleepMilliseconds(20)
            }
        }
        repository.removeIndexCopies()
        // The files of a change of recipients that was killed are that change's to commit or to take back.
        let inChange = Reencryption.paths(underWayIn: store)
        let known = Set(noted)
        for path in left.paths where !known.contains(path) && !inChange.contains(share.inStore(path)) {
            noteFound(.saved(share.inStore(path)))
        }
        left.remove()
    }
}
