import Fuse
import Stores
import Synchronization
import System

/// A thing under the mount point that has an inode number.
///
/// What never changes about it stands here; its name and place belong to `Tree`. The content of a secret exists only
/// while somebody uses it, so that a hundred thousand known names cost little.
final class Node: Sendable {
    /// What the thing is.
    enum Kind: Sendable, Equatable {
        /// The mount point: its entries are the stores.
        case root
        case directory
        /// A secret, or a scratch file that lives in memory only.
        case secret
        /// A file of the store that is not encrypted, shown read-only.
        case plain
        case symbolicLink
        /// A symbolic link that lives in memory only, such as the lock of an editor, with its target.
        case memoryLink([UInt8])
    }

    private struct Slot {
        var file: SecretFile?
        var users: Int32 = 0
    }

    /// What `Tree` keeps of a node. It lies here and not in a table there because there may be very many.
    struct Record {
        /// nil once the node has no name any more: unlinked, replaced, or gone on disk.
        var place: NodePlace?
        /// How many lookups the kernel holds.
        var lookups: UInt64 = 0
        /// How many nodes have this one as their folder.
        var children: UInt32 = 0
    }

    /// The number that the kernel knows it by; never another thing's while the kernel knows it.
    let inode: InodeNumber
    /// What it is.
    let kind: Kind
    /// What answers for it; nil for the mount point only, for which `Top` does. It lives as long as the file system, which
    /// owns it.
    unowned let subtree: (any Subtree)?
    /// What it stands for, of what a history holds.
    let past: PastItem?
    private let slot: Mutex<Slot>
    /// The size that was last told of it.
    let toldSize = Atomic<Int64>(-1)
    /// When another size was told of it than before, in nanoseconds of the monotonic clock.
    private let lastOtherSize = Atomic<UInt64>(0)
    // Unsafe because the compiler cannot see it: only Tree touches it, and only under its lock.
    nonisolated(unsafe) var record = Record()

    init(
        inode: InodeNumber, kind: Kind, subtree: (any Subtree)?, file: SecretFile? = nil,
        past: PastItem? = nil
    ) {
        self.inode = inode
        self.kind = kind
        self.subtree = subtree
        self.past = past
        slot = Mutex(Slot(file: file))
    }

    /// A size is told of it.
    func noteTold(_ size: Int64) {
        let last = toldSize.exchange(size, ordering: .acquiringAndReleasing)
        if last != size, last >= 0 { lastOtherSize.store(MonotonicTime.nanoseconds, ordering: .releasing) }
    }

    /// Whether the kernel may take it to have another size. Of two answers that cross each other it keeps the one that it came to
    /// first, which need not be the later one.
    func mayBeTakenToHaveAnotherSize(than size: Int64) -> Bool {
        toldSize.load(ordering: .acquiring) != size
            || MonotonicTime.nanoseconds &- lastOtherSize.load(ordering: .acquiring) < Self.crossingLasts
    }

    /// Longer than an answer takes until the kernel goes on with it, in nanoseconds.
    private static let crossingLasts: UInt64 = 1_000_000_000

    /// The content, when somebody uses it.
    var secret: SecretFile? {
        kind == .secret ? slot.withLock { $0.file } : nil
    }

    /// The content, kept until the matching `endUse()`; nil when the node is no secret.
    /// - Parameter scratchMemory: what it takes memory from when it is a scratch file.
    func beginUse(_ scratchMemory: ScratchMemory) -> SecretFile? {
        guard kind == .secret else { return nil }
        return slot.withLock { slot in
            slot.users += 1
            if let file = slot.file { return file }
            let file = SecretFile(scratchMemory: scratchMemory)
            slot.file = file
            return file
        }
    }

    /// Ends a `beginUse()`; with the last user the content is forgotten. What is not saved has a user: its mark.
    func endUse() {
        let gone = slot.withLock { slot -> SecretFile? in
            slot.users -= 1
            guard slot.users == 0 else { return nil }
            defer { slot.file = nil }
            return slot.file
        }
        gone?.returnScratchMemory()
    }

    /// Whether its content is only in memory: edited and not saved, or a scratch file.
    var isOnlyInMemory: Bool {
        if case .memoryLink = kind { return true }
        return secret?.state.withLock { $0.isDirty || $0.isScratch } ?? false
    }

    /// The kind as directory listings tell it.
    var fileKind: FileKind {
        switch kind {
        case .root, .directory: .directory
        case .secret, .plain: .regular
        case .symbolicLink, .memoryLink: .symbolicLink
        }
    }

    /// Whether what was found on disk is the same kind of thing.
    func matches(_ found: BackingEntry) -> Bool {
        switch (kind, found.kind) {
        case (.directory, .directory), (.plain, .plain), (.symbolicLink, .symbolicLink): true
        // A scratch file of the same name is not what lies on disk.
        case (.secret, .secret): !(secret?.state.withLock { $0.isScratch } ?? false)
        default: false
        }
    }
}
