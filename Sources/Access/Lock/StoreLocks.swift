import Synchronization

/// Which stores are locked, by their identifiers: nothing of them is read until somebody agrees.
///
/// A store is locked by `passdir lock` or one of its triggers, and unlocked by one consent, a passphrase or
/// `passdir unlock`.
public final class StoreLocks: Sendable {
    private let locked = Mutex<Set<String>>([])

    /// Nothing is locked at first.
    public init() {}

    /// Whether nothing of the store may be read.
    public func isLocked(_ store: String) -> Bool { locked.withLock { $0.contains(store) } }

    /// Locks the stores. What was read before is for the caller to forget.
    public func lock(_ stores: some Sequence<String>) { locked.withLock { $0.formUnion(stores) } }

    /// Unlocks the stores.
    public func unlock(_ stores: some Sequence<String>) { locked.withLock { $0.subtract(stores) } }
}
