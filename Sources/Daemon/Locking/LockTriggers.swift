import Access
import Logging
import Mount
import Settings
import System
import SystemPackage

/// Locks all stores because the user goes away, as far as settings say so. They are looked up when it happens, so that a
/// change of the configuration counts at once.
final class LockTriggers: Sendable {
    /// How often it is looked whether a time of idleness was set meanwhile, where none is.
    private static let pause = Duration.seconds(30)

    private let locking: StoreLocking
    private let filesystem: StoreFilesystem
    private let locks: StoreLocks
    private let gate: AccessGate
    private let configuration: Configuration
    private let log: Logger

    init(
        _ locking: StoreLocking, _ filesystem: StoreFilesystem, _ locks: StoreLocks, _ gate: AccessGate,
        _ configuration: Configuration, log: Logger
    ) {
        self.locking = locking
        self.filesystem = filesystem
        self.locks = locks
        self.gate = gate
        self.configuration = configuration
        self.log = log
    }

    /// Begins to watch the session, on a thread that ends with the process.
    func watchSession(environment: [String: String]) throws(Errno) {
        let log = log
        let watch = SessionWatch(environment: environment) {
            log.debug("\($0)")
        } handle: { [weak self] event in
            self?.handle(event)
        }
        try watch.start()
    }

    private func handle(_ event: SessionWatch.Event) {
        switch event {
        case .screenLocked: lock(because: .screen, where: Catalogue.lockScreen)
        case .loggedOut: lock(because: .logout, where: Catalogue.lockLogout)
        case .suspending:
            lock(because: .suspend, where: Catalogue.lockSuspend)
            // In any case: nobody will answer soon, and who waits for the mount cannot be stopped.
            filesystem.endWaitsForPeople()
            gate.endQuestions(atMost: 2)
        }
    }

    private func lock(because reason: LockReason, where setting: Setting<Bool>) {
        guard (try? configuration.value(setting)) ?? false else { return }
        _ = try? locking.lock(nil, because: reason)
    }

    /// Locks all stores where nobody has read for `lock.idle`.
    /// - Returns: when that is to be looked at again.
    func lockWhereIdle() -> Duration {
        let limit = (try? configuration.value(Catalogue.lockIdle)) ?? .zero
        guard limit > .zero else { return Self.pause }
        let left = locks.timeOfLastRead + limit - .now
        guard left <= .zero else { return min(left, Self.pause) }
        if locking.isAnythingOpen { _ = try? locking.lock(nil, because: .idle) }
        return min(limit, Self.pause)
    }
}
