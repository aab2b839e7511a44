import Synchronization
import SystemPackage

/// The memory that scratch files may take together (`limits.scratch`).
final class ScratchMemory: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes memory, or gives it back where `bytes` is negative. Throws ENOSPC beyond the limit.
    func take(_ bytes: Int) throws(Errno) {
        let isTaken = used.withLock { used in
            guard bytes <= 0 || used + bytes <= limit else { return false }
            used += bytes
            return true
        }
        guard isTaken else { throw .noSpace }
    }
}
