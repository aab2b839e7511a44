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

    /// Saves what is newer than the disk in all stores, also in those that have left. What the disk of a store does not take in
    /// `limit` is given up.
    func saveEverything(limit: Duration) {
        let end = MonotonicTime(secondsFromNow: limit / .seconds(1))
        let saves = (all + departed.withLock { $0 }).compactMap(\.store).map { store in
            let saving = RepeatedLook<Bool>(named: "save-all")
            let number = saving.begin { [filesystem] in
                filesystem.saveEverything(of: store)
                return true
            }
            return (saving, number)
        }
        for (saving, number) in saves { _ = saving.finding(of: number, until: end) }
    }

    /// Commits and pushes what waits in all stores, also in those that have left. One whose disk does not answer is waited for
    /// as long as a remote.
    /// - Returns: what that did not come to, a sentence a store.
    func finish(timeout: Duration) -> [String] {
        let served = all + departed.withLock { $0 }
        let end = ContinuousClock.now + timeout
        let calls = served.map { store in
            (
                store: store,
                call: store.committer.map { committer in
                    ActorCall { await committer.finish(timeout: timeout) }
                }
            )
        }
        var told: Set<FilePath> = []
        return calls.compactMap { store, call in
            guard let call else { return nil }
            let hasEnded = hasEnded(call, of: store, end)
            // One that has left and come back is there twice.
            guard told.insert(store.path).inserted else { return nil }
            guard hasEnded else {
                return
                    "\(store.name): its disk is not responding; what it does not have committed yet is committed by "
                    + "the next mount"
            }
            return store.committer?.unsharedSentence.map { "\(store.name): \($0)" }
        }
    }

    /// Waits for the end of a committer's work; false where its disk does not answer, and the time is over.
    private func hasEnded(_ call: ActorCall<Void>, of store: ServedStore, _ end: ContinuousClock.Instant)
        -> Bool
    {
        while call.value(until: MonotonicTime(secondsFromNow: 0.5)) == nil {
            guard .now >= end else { continue }
            if !store.disk.answers { return false }
        }
        return true
    }
}
