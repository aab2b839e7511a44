import Logging
import Mount
import Sync
import Synchronization

/// What is left to be done when the mount is gone.
extension MountService {
    /// Saves, commits and pushes what waits.
    /// - Parameter end: when the mount was gone: `unmount.timeout` counts from there, once for all that is left to be done.
    func finish(since end: ContinuousClock.Instant) {
        let left = stores.finish(
            by: end + unmountTimeout, savingUntil: end + max(unmountTimeout, .seconds(20)))
        tellOfLost()
        for sentence in left { log.warning("\(sentence)") }
        leftOver.withLock { $0 = left }
    }

    /// What cannot be saved ends with this process. The log alone is read by nobody.
    private func tellOfLost() {
        let lost = filesystem.unsaved
        for secret in lost {
            log.error("\(secret.store)/\(secret.path) is lost with this process: \(secret.message)")
        }
        // Whoever said so knows.
        guard !isLossAgreed.load(ordering: .acquiring) else { return }
        for store in stores.all + unsavedRest {
            let secrets = lost.filter { $0.store == store.name }
            guard let first = secrets.first else { continue }
            store.noteLost(secrets)
            let more = secrets.count > 1 ? " and \(secrets.count - 1) more" : ""
            DesktopNotification.showAndWait(
                store.name,
                "\(first.path)\(more) could not be saved before passdir exited, and the text is lost: \(first.message)"
            )
        }
    }
}
