import Synchronization

/// Which stores are locked, by their identifiers: nothing of them is read until somebody agrees.
///
/// A store is locked by `passdir lock` or one of its triggers, and unlocked by one consent, a passphrase or
/// `passdir unlock`.
public final class StoreLocks: Sendable {
    private let known = Mutex<[String: StoreLock]>([:])
    private let lastRead = Mutex(ContinuousClock.now)

    /// Nothing is locked at first.
    public init() {}

    /// The lock of a store, the same one each time.
    public func lock(of store: String) -> StoreLock {
        known.withLock { known in
            if let lock = known[store] { return lock }
            let lock = StoreLock()
            known[store] = lock
            return lock
        }
    }

    /// Whether nothing of the store may be read.
    public func isLocked(_ store: String) -> Bool { known.withLock { $0[store] }?.isLocked ?? false }

    /// Locks the stores. What was read before is for the caller to forget.
    public func lock(_ stores: some Sequence<String>, because reason: LockReason = .command) {
        for store in stores { lock(of: store).lock(because: reason) }
    }

    /// Unlocks the stores.
    public func unlock(_ stores: some Sequence<String>) {
        for store in stores { lock(of: store).unlock() }
    }

    /// A store has another identifier now: it had none before, and was known by its folder.
    public func rename(_ store: String, to identifier: String) {
        known.withLock { known in
            if let lock = known.removeValue(forKey: store) { known[identifier] = lock }
        }
    }

    /// Something of any store is read at this moment.
    public func noteRead() { lastRead.withLock { $0 = .now } }

    /// When something was last read; at first, when this was made.
    public var timeOfLastRead: ContinuousClock.Instant { lastRead.withLock { $0 } }
}
