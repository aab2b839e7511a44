import Dispatch
import Fuse
import Glibc
import Synchronization

/// The contents that nobody has open any more and that stay in secret memory for `cache.time`, so that who opens them again
/// waits for no decryption. They take a bounded part of what a process may lock.
final class KeptContents: Sendable {
    private struct Kept {
        var node: Node
        var store: MountedStore
        var end: ContinuousClock.Instant
        var byteCount: Int
    }

    private struct State {
        var kept: [InodeNumber: Kept] = [:]
        var byteCount = 0
        var isToExpire = false

        mutating func take(_ inode: InodeNumber) -> Kept? {
            let taken = kept.removeValue(forKey: inode)
            byteCount -= taken?.byteCount ?? 0
            return taken
        }

        mutating func takeOldest() -> Kept? {
            kept.min { $0.value.end < $1.value.end }.flatMap { take($0.key) }
        }

        mutating func take(where isGone: (Kept) -> Bool) -> [Kept] {
            kept.filter { isGone($0.value) }.keys.compactMap { take($0) }
        }
    }

    /// Half of what a process may lock where nobody has set it (RLIMIT_MEMLOCK).
    private static let limit = 4 << 20
    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    private let cacheTime: CacheTime
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// - Parameter queue: where contents are forgotten.
    init(for time: CacheTime, queue: DispatchQueue) {
        cacheTime = time
        self.queue = queue
    }

    /// Keeps the content of a node from now on, in place of what was closed first where there is no room.
    /// - Returns: false where nothing is kept, or not so much.
    func add(_ node: Node, of store: MountedStore, count: Int) -> Bool {
        let byteCount = max(1, (count + Self.pageSize - 1) / Self.pageSize) * Self.pageSize
        let time = cacheTime.value
        // Its content lives as long as somebody uses it.
        guard time > .zero, byteCount <= Self.limit / 4, node.beginUse(store.mount.scratchMemory) != nil
        else { return false }
        let kept = Kept(node: node, store: store, end: .now + time, byteCount: byteCount)
        let (earlier, gone, isFirst) = state.withLock { state -> (Kept?, [Kept], Bool) in
            let earlier = state.take(node.inode)
            var gone: [Kept] = []
            while state.byteCount + byteCount > Self.limit, let oldest = state.takeOldest() {
                gone.append(oldest)
            }
            state.kept[node.inode] = kept
            state.byteCount += byteCount
            defer { state.isToExpire = true }
            return (earlier, gone, !state.isToExpire)
        }
        if let earlier { earlier.node === node ? node.endUse() : Self.forget(earlier) }
        for kept in gone { Self.forget(kept) }
        if isFirst { expire(after: time) }
        return true
    }

    private func expire(after pause: Duration) {
        let (seconds, attoseconds) = max(pause, .milliseconds(10)).components
        let nanoseconds = Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in self?.expire() }
    }

    private func expire() {
        let now = ContinuousClock.now
        let (gone, next) = state.withLock { state in
            let gone = state.take { $0.end <= now }
            state.isToExpire = !state.kept.isEmpty
            return (gone, state.kept.values.map(\.end).min())
        }
        for kept in gone { Self.forget(kept) }
        if let next { expire(after: next - now) }
    }

    /// Forgets the contents of stores, here and in the kernel.
    func forgetAll(of isGone: (MountedStore) -> Bool) {
        for kept in state.withLock({ state in state.take { isGone($0.store) } }) { Self.forget(kept) }
    }

    private static func forget(_ kept: Kept) {
        if let file = kept.node.secret { kept.store.forget(kept.node, file) }
        kept.node.endUse()
    }
}
