import Git
import Stores
import Glibc
import Logging
import SystemPackage

/// What the user is told of a synchronization, and when it is tried again.
extension Committer {
    func noteSuccess() {
        sync.failures = 0
        state.withLock { $0.syncError = nil }
        if sync.hasComplained {
            sync.hasComplained = false
            options.notify(store.name, "The store \"\(store.name)\" is in sync with its remote again.")
        }
        state.refreshStatus()
    }

    func noteFailure(_ failure: SyncFailure) {
        sync.failures += 1
        Fault.point("sync.failed")
        state.withLock { $0.syncError = failure.message }
        log.warning("\(failure.message)")
        if let own = try? state.ownRepository() { state.refreshStatus(own) }
        guard !state.withLock({ $0.isFinishing }) else { return }
        // Two in a row: a network that is away for a moment is no news.
        let isPassing = failure.isOfNetwork
        // Nothing tells that the network is back; asking every two minutes costs little.
        let longest = isPassing ? 120 : 900
        if !sync.hasComplained, !isPassing || sync.failures > 1 {
            sync.hasComplained = true
            options.notify(store.name, failure.message)
        }
        // For the others somebody must do something first.
        guard sync.complaints.keys.contains(where: { !sync.waitsForUser.contains($0) }) else { return }
        let wait = min(10 << min(sync.failures - 1, 7), longest)
        Task {
            try? await Task.sleep(for: .seconds(wait) + .milliseconds(Int.random(in: 0...2000)))
            if self.sync.failures > 0, !state.withLock({ $0.isFinishing || $0.hasLeft }) {
                await self.synchronize(.everything)
            }
        }
    }
}
