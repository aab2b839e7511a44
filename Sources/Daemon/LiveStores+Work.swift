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
            let committer = served.committer
        else { return }
        filesystem.saveEverything(of: store)
        _ = ActorCall { await committer.commitAndPush() }
            .value(until: MonotonicTime(secondsFromNow: limit / .seconds(1)))
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
                _ = served.start()?.value(until: MonotonicTime(secondsFromNow: 60))
            }
            // What only starting needed.
            CodePages.letGo()
        }
    }

    /// Commits and pushes what waits in all stores, also in those that have left.
    /// - Returns: what that did not come to, a sentence a store.
    func finish(timeout: Duration) -> [String] {
        let served = all + departed.withLock { $0 }
        let calls = served.compactMap(\.committer).map { committer in
            ActorCall { await committer.finish(timeout: timeout) }
        }
        for call in calls { call.value() }
        var told: Set<FilePath> = []
        return served.compactMap { store in
            // One that has left and come back is there twice.
            guard told.insert(store.path).inserted else { return nil }
            return store.committer?.unsharedSentence.map { "\(store.name): \($0)" }
        }
    }
}
