import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

extension Committer {
    /// Looks at the repositories: mends what a crash left half done, finds what was saved but never committed, brings
    /// store and remote together, and does so regularly from then on.
    public func start() async {
        let hasRepository = mendOnce()
        guard !state.withLock({ $0.hasLeft }) else { return }
        if hasRepository, regular == nil { exchangeRegularly() }
        if !hasLooked, await !lookForUncommitted() { Task { await self.lookAgain() } }
        guard hasRepository else { return }
        await synchronize(options.interval == nil ? .push : .everything)
    }

    /// The store has a repository that it did not have before: what lies in it uncommitted is committed as at the start of a
    /// mount. Whoever makes one may be about to do that, and has as much time for it as changes have to gather.
    func startAnew() async {
        (hasRepository, hasLooked) = (nil, false)
        try? await Task.sleep(for: options.delay)
        guard !state.withLock({ $0.isFinishing }) else { return }
        await start()
    }

    /// The repository is another one: what is known of the old one does not hold.
    func beginInNewFolder() async {
        hasRepository = nil
        memory.rewritings = [:]
        hasLooked = false
        state.withLock {
            $0.nestedTops = []
            $0.unopened = [:]
            $0.seen = nil
            $0.syncError = nil
            $0.status.branch = nil
            $0.status.lastCommit = nil
            $0.status.unpushedCommits = 0
        }
        await start()
    }

    /// Whether there is a repository to go on with. Once a process: at the start, or at the end of a mount that ended
    /// before anything started.
    func mendOnce() -> Bool {
        if let hasRepository { return hasRepository }
        do throws(GitError) {
            let own = try state.ownRepository()
            if let own {
                state.refreshStatus(own)
                // git add -A would commit a secret that is being saved, and git clean or stash take it away.
                try? own.repository.exclude(
                    "\(Store.temporaryPrefix)*.tmp", because: "passdir: secrets that are being saved")
            } else {
                state.noteMissingRepository()
            }
            for part in state.repositories(own) {
                try writer.mend(part)
                part.repository.removeLeftReferenceLocks()
                writer.removeLeftPacks(part.repository)
            }
            hasRepository = own != nil || state.withLock { !$0.nestedTops.isEmpty }
        } catch {
            state.withLock { values in
                values.status.state = .noCommits
                values.commitError =
                    "commits are off for this store because \(error.message): reading and saving work."
            }
            log.warning("\(error.message)")
            hasRepository = false
            hasLooked = true
        }
        return hasRepository ?? false
    }

    /// Looks at the store for `status` where nobody serves it: commits and pushes nothing, now or later.
    public func lookOnly() {
        state.withLock { $0.isFinishing = true }
        state.refreshStatus()
        hasLooked = true
        guard let parts = try? state.repositories(state.ownRepository()) else { return }
        for part in parts where writer.take(UncommittedLook(part).result(), part) == nil { hasLooked = false }
    }

    /// For a mount that ends: what the start has not come to.
    func recoverAtEnd() {
        guard options.recovers else { return }
        _ = mendOnce()
        guard !hasLooked, let parts = try? state.repositories(state.ownRepository()) else { return }
        for part in parts { _ = writer.take(UncommittedLook(part).result(), part) }
    }

    // MARK: what was never committed

    /// Notes what lies uncommitted in the working trees. Comparing 100,000 files takes seconds, minutes on a slow disk:
    /// that happens on a thread of its own, and what is saved meanwhile is committed meanwhile.
    /// - Returns: false when git programs or others were at work, so that it must be done again.
    func lookForUncommitted() async -> Bool {
        // One at a time; who asks meanwhile wants to know of what has come since it began.
        while let running = look { _ = await running.value }
        let task = Task {
            let isWhole = await self.lookNow()
            // Here, before those who wait go on: an ended look would be waited for without a pause.
            self.look = nil
            return isWhole
        }
        look = task
        return await task.value
    }

    private func lookNow() async -> Bool {
        guard let parts = try? state.repositories(state.ownRepository()) else { return false }
        var isWhole = true
        defer { writer.ownMoves = nil }
        state.withLock { $0.staged = [] }
        var found = 0
        for part in parts {
            writer.ownMoves = [:]
            let look = UncommittedLook(part)
            let result = await PosixThread.run(named: "recovery") { look.result() }
            if let count = writer.take(result, part) { found += count } else { isWhole = false }
        }
        // Comparing everything with the index took more memory than all else.
        FreedMemory.giveBack()
        hasLooked = isWhole
        // What was saved just now waits its time.
        if found > 0 { commitPending() }
        return isWhole
    }

    /// Looks until nobody disturbs it: what lies there uncommitted must not wait for another crash to be found.
    func lookAgain() async {
        var wait = Duration.seconds(1)
        while !state.withLock({ $0.isFinishing }) {
            try? await Task.sleep(for: wait)
            // A sync may have looked meanwhile.
            guard !hasLooked, !state.withLock({ $0.isFinishing }) else { return }
            if await lookForUncommitted() { return await synchronize(.push) }
            wait = min(wait * 2, .seconds(10))
        }
    }

    /// Commits what a stash has brought back, after as much time as changes have to gather.
    func lookAfterStash() async {
        // Told by the watch of the branch, and by who has found another stash than before.
        guard !looksAfterStash, !state.withLock({ $0.isFinishing }) else { return }
        (looksAfterStash, hasLooked) = (true, false)
        try? await Task.sleep(for: options.delay)
        looksAfterStash = false
        guard !state.withLock({ $0.isFinishing }) else { return }
        if await lookForUncommitted() { await synchronize(.push) } else { await lookAgain() }
    }
}
