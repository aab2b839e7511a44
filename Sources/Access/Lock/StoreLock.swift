public import System
import Synchronization

/// Why a store was locked.
public enum LockReason: String, Sendable, Codable, CaseIterable {
    /// `passdir lock`.
    case command
    /// Nobody has read for `lock.idle`.
    case idle
    /// The screen was locked (`lock.screen`).
    case screen
    /// The computer was suspended (`lock.suspend`).
    case suspend
    /// The user's last session ended (`lock.logout`).
    case logout
}

/// Whether one store is locked. While it is, nothing of it is read; what is forgotten then is for the mount to do.
public final class StoreLock: Sendable {
    /// What is told of a lock.
    public struct Facts: Sendable, Equatable {
        /// What locked the store first.
        public var reason: LockReason
        /// When that was.
        public var since: FileTime
    }

    private struct State {
        var facts: Facts?
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Not locked.
    public init() {}

    /// Since when and why the store is locked; nil while it is not.
    public var facts: Facts? { state.withLock { $0.facts } }

    /// Whether nothing of the store may be read.
    public var isLocked: Bool { state.withLock { $0.facts != nil } }

    /// How often it was locked. What was permitted at another count is permitted no more.
    public var count: UInt64 { state.withLock { $0.count } }

    /// Locks the store, or locks it once more: then it is told of the first time, and what was permitted since is void.
    public func lock(because reason: LockReason) {
        state.withLock { state in
            state.count += 1
            if state.facts == nil { state.facts = Facts(reason: reason, since: .now) }
        }
    }

    /// Unlocks the store.
    public func unlock() { state.withLock { $0.facts = nil } }

    /// Unlocks the store, unless it was locked again since it was locked for the `count`th time: who agreed to read did so
    /// before that.
    /// - Returns: false where it was locked again.
    public func unlock(lockedTimes count: UInt64) -> Bool {
        state.withLock { state in
            guard state.count == count else { return false }
            state.facts = nil
            return true
        }
    }
}
