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

    /// Saves what is newer than the disk in all stores, also in those that have left, and commits and pushes what waits in
    /// them: each as soon as its own is saved. What the disk of a store does not take until `end` is given up.
    /// - Parameter timeout: how long a remote is waited for, and a disk that does not answer, but no longer than until `end`.
    /// - Returns: what that did not come to, a sentence a store.
    func finish(timeout: Duration, until end: ContinuousClock.Instant) -> [String] {
        let served = all + departed.withLock { $0 }
        // Known by the time it is asked for.
        for store in served { _ = store.disk.begin() }
        let endings = served.map { StoreEnding($0, filesystem, timeout: timeout, until: end) }
        // The rest of what waits in a store does not wait for a save for ever.
        let half = ContinuousClock.now + (end - .now) / 2
        for ending in endings { ending.waitForSaves(until: half) }
        var told: Set<FilePath> = []
        let left = endings.compactMap { ending -> String? in
            let store = ending.store
            guard let call = ending.commits() else { return nil }
            let hasEnded = hasEnded(call, of: store, min(.now + timeout, end))
            // One that has left and come back is there twice.
            guard told.insert(store.path).inserted else { return nil }
            guard hasEnded else {
                return
                    "\(store.name): its disk is not responding; what it does not have committed yet is committed by "
                    + "the next mount"
            }
            return store.committer?.unsharedSentence.map { "\(store.name): \($0)" }
        }
        for ending in endings { ending.waitForSaves(until: end) }
        return left
    }

    /// Waits for the end of a committer's work; false where its disk does not answer, and the time is over.
    private func hasEnded(_ call: ActorCall<Void>, of store: ServedStore, _ end: ContinuousClock.Instant)
        -> Bool
    {
        while call.value(until: MonotonicTime(secondsFromNow: min(max((end - .now) / .seconds(1), 0.1), 0.5)))
            == nil
        {
            guard .now >= end else { continue }
            if !store.disk.answers { return false }
        }
        return true
    }
}

/// The end of one store: what is newer than its disk is saved, then what waits is committed and pushed.
private final class StoreEnding: Sendable {
    let store: ServedStore
    private let timeout: Duration
    private let end: ContinuousClock.Instant
    private let saving = RepeatedLook<Bool>(named: "save-all")
    private let call = Mutex<ActorCall<Void>?>(nil)

    /// Begins on a thread of its own, as the disk may not answer.
    init(
        _ served: ServedStore, _ filesystem: StoreFilesystem, timeout: Duration,
        until end: ContinuousClock.Instant
    ) {
        (store, self.timeout, self.end) = (served, timeout, end)
        saving.begin { [self] in
            if let opened = store.store { filesystem.saveEverything(of: opened) }
            _ = commits()
            return true
        }
    }

    /// Waits until all is saved.
    func waitForSaves(until deadline: ContinuousClock.Instant) {
        _ = saving.finding(of: 1, until: MonotonicTime(secondsFromNow: (deadline - .now) / .seconds(1)))
    }

    /// The committer's work, which begins now where it has not; nil where the store has no committer.
    func commits() -> ActorCall<Void>? {
        guard let committer = store.committer else { return nil }
        return call.withLock { call in
            if let call { return call }
            let limit = min(timeout, max(end - .now, .zero))
            let begun = ActorCall<Void> { await committer.finish(timeout: limit) }
            call = begun
            return begun
        }
    }
}
