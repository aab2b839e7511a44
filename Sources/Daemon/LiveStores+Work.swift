import Mount
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// What the stores have done when the mount begins, and when something ends.
extension LiveStores {
    /// Saves, commits and pushes what waits in a store, as far as that is possible in `limit`.
    func saveAndPush(_ name: String, limit: Duration) {
        guard let served = all.first(where: { $0.name == name }), let store = served.store,
            let committer = served.committer, served.disk.answers
        else { return }
        served.work("saving") { [filesystem] in filesystem.saveEverything(of: store) }
        _ = ActorCall { await committer.commitAndPush() }
            .value(until: MonotonicTime(secondsFromNow: limit / .seconds(1)))
    }

    /// Tries again what failed, also of stores that have left; those whose disks do not answer go on by themselves.
    /// - Returns: how many secrets are saved now that were not before.
    @discardableResult
    func retryFailedSaves() -> Int {
        let ends = known.compactMap { served -> (() -> Int?)? in
            guard let store = served.store, filesystem.hasFailedSaves(of: store) else { return nil }
            return served.begin(served.saving) { [filesystem] in filesystem.retryFailedSaves(of: store) }
        }
        return ends.map { $0() ?? 0 }.reduce(0, +)
    }

    /// Looks into every store that nobody has used yet for what a crash left uncommitted: one after the other, so that
    /// many stores are no burden.
    func recoverInBackground(after pause: Duration) throws(Errno) {
        // So that a test sees the time before.
        guard !FaultPoint.isMadeToFail("recovery") else { return }
        looksInBackground.store(true, ordering: .releasing)
        try PosixThread.start(named: "recovery") { [weak self] in
            PosixThread.sleep(for: pause)
            for served in self?.all ?? [] {
                // One whose disk does not answer goes on by itself.
                _ = served.start()?.value(until: MonotonicTime(secondsFromNow: 5))
            }
            // What only starting needed, and what that set going: the first look at remotes, watches, indexes.
            PosixThread.sleep(for: .seconds(5))
            CodePages.letGo()
        }
    }

    /// Saves what is newer than the disk in all stores, also in those that have left, then commits and pushes what waits there:
    /// each store on a thread of its own, so that none waits for the disk of another.
    /// - Parameters:
    ///   - deadline: when a remote is waited for no longer, nor a disk that does not answer.
    ///   - saveDeadline: when a save is given up whose disk answers.
    /// - Returns: what that did not come to, a sentence a store.
    func finish(
        by deadline: ContinuousClock.Instant, savingUntil saveDeadline: ContinuousClock.Instant
    ) -> [String] {
        let ends = (all + departed.withLock { $0 }).compactMap { served in
            served.committer.map { committer in
                // Known by the time it is asked for.
                _ = served.disk.begin()
                let end = Attempt(named: "finish") { [self] in
                    if let store = served.store {
                        let saving = Attempt(named: "save-all") { [filesystem] in
                            filesystem.saveEverything(of: store)
                        }
                        _ = saving.value(until: MonotonicTime(saveDeadline))
                    }
                    ActorCall { await committer.finish(by: deadline) }.value()
                }
                return (store: served, committer: committer, end: end)
            }
        }
        var told: Set<FilePath> = []
        return ends.compactMap { store, committer, end in
            let hasEnded = hasEnded(end, of: store, deadline)
            // One that has left and come back is there twice.
            guard told.insert(store.path).inserted else { return nil }
            guard hasEnded else {
                return
                    "\(store.name): its disk is not responding; what it does not have committed yet is committed by "
                    + "the next mount"
            }
            return committer.unsharedSentence.map { "\(store.name): \($0)" }
        }
    }

    /// Waits for the end of a store's work; false where its disk does not answer, and the time is over.
    private func hasEnded(_ end: Attempt<Void>, of store: ServedStore, _ deadline: ContinuousClock.Instant)
        -> Bool
    {
        var next = deadline
        while end.value(until: MonotonicTime(next)) == nil {
            if !store.disk.answers { return false }
            next = .now + .milliseconds(500)
        }
        return true
    }
}
