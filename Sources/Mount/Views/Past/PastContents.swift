import Dispatch
import Glibc
import OpenPGP
import Stores
import Synchronization
import System

/// The text of a version while programs have it open, one for all of them: decrypted once, of no use once its store has been
/// locked.
final class PastContent: Sendable {
    struct State {
        var bytes: SecretBytes?
        /// A lock has ended it: whoever has it open reads no more.
        var isWiped = false
        var decryption: SharedDecryption?
    }

    let store: MountedStore
    let blob: PastBlob
    let state = Mutex(State())

    init(_ store: MountedStore, _ blob: PastBlob) { (self.store, self.blob) = (store, blob) }

    /// Its length in bytes; nil where it is not decrypted.
    var count: Int? { state.withLock { $0.bytes?.count } }

    /// Forgets the text, and ends its decryption.
    func wipe(with error: StoreError) {
        let decryption = state.withLock { state in
            state.isWiped = true
            state.bytes = nil
            defer { state.decryption = nil }
            return state.decryption
        }
        decryption?.end(.failure(error))
    }

    /// Ends the decryption that runs.
    func endDecryption(with error: StoreError) {
        let decryption = state.withLock { state in
            defer { state.decryption = nil }
            return state.decryption
        }
        decryption?.end(.failure(error))
    }
}

/// The texts of versions that are open, and of those that were closed within `cache.time`, which take a bounded part of what a
/// process may lock.
final class PastContents: Sendable {
    private struct Key: Hashable {
        var store: ObjectIdentifier
        var blob: PastBlob
    }
    private struct Known {
        var content: PastContent
        var users = 0
        /// Until when it is kept, and how much memory that takes; nil while it is open.
        var kept: (until: ContinuousClock.Instant, byteCount: Int)?
    }

    /// As much as `KeptContents` keeps.
    private static let limit = 4 << 20
    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    private let cacheTime: CacheTime
    private let queue: DispatchQueue
    private let known = Mutex<[Key: Known]>([:])

    /// - Parameter queue: where texts are forgotten.
    init(for time: CacheTime, queue: DispatchQueue) { (cacheTime, self.queue) = (time, queue) }

    /// The content of a version, with one more user.
    func beginUse(of blob: PastBlob, _ store: MountedStore) -> PastContent {
        let key = Key(store: ObjectIdentifier(store), blob: blob)
        return known.withLock { known in
            var entry = known[key] ?? Known(content: PastContent(store, blob))
            entry.users += 1
            entry.kept = nil
            known[key] = entry
            return entry.content
        }
    }

    /// One user less. After the last one it is kept for a while, or forgotten.
    func endUse(of content: PastContent) {
        let (count, time) = (content.count, cacheTime.value)
        let isKept = known.withLock { known -> Bool in
            let key = Key(store: ObjectIdentifier(content.store), blob: content.blob)
            guard var entry = known[key], entry.content === content else { return false }
            entry.users -= 1
            guard entry.users == 0 else {
                known[key] = entry
                return false
            }
            known[key] = nil
            let byteCount = max(1, ((count ?? 0) + Self.pageSize - 1) / Self.pageSize) * Self.pageSize
            guard count != nil, time > .zero, byteCount <= Self.limit / 4 else { return false }
            entry.kept = (.now + time, byteCount)
            known[key] = entry
            Self.makeRoom(in: &known)
            return true
        }
        guard isKept else { return }
        let (seconds, attoseconds) = time.components
        let nanoseconds = Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
            let now = ContinuousClock.now
            self?.forget { $0.kept.map { $0.until <= now } ?? false }
        }
    }

    private static func makeRoom(in known: inout [Key: Known]) {
        var byteCount = known.values.reduce(0) { $0 + ($1.kept?.byteCount ?? 0) }
        let kept = known.filter { $0.value.kept != nil }
        for (key, entry) in kept.sorted(by: { $0.value.kept!.until < $1.value.kept!.until }) {
            guard byteCount > limit else { return }
            byteCount -= entry.kept?.byteCount ?? 0
            known[key] = nil
        }
    }

    @discardableResult
    private func forget(_ isGone: (Known) -> Bool) -> [PastContent] {
        known.withLock { known in
            let gone = known.filter { isGone($0.value) }
            for key in gone.keys { known[key] = nil }
            return gone.values.map(\.content)
        }
    }

    /// Forgets what nobody has open.
    func forgetKept(of isGone: (MountedStore) -> Bool) {
        forget { $0.kept != nil && isGone($0.content.store) }
    }

    /// Forgets all texts of a store, also what is open, and ends decryptions.
    func lock(_ store: MountedStore) {
        for content in forget({ $0.content.store === store }) { content.wipe(with: store.lockedError) }
    }

    /// Ends the decryptions that run.
    func endDecryptions(of store: MountedStore, with error: StoreError) {
        let contents = known.withLock { known in
            known.values.map(\.content).filter { $0.store === store }
        }
        for content in contents { content.endDecryption(with: error) }
    }
}
