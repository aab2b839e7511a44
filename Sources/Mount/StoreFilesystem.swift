import Dispatch
public import Fuse
import Glibc
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// The file system that the kernel shows: all visible stores, each a directory of its own.
///
/// It knows what names look like, what handles and inodes are, and which errno a program sees; how a secret is
/// encrypted is `Stores`', how a change reaches git is its `ChangeSink`'s. The order of locks:
/// `SecretFile.saving`, `MountedStore.namespace`, then one of `Tree`, `Handles`, `Node`, `SecretFile.state`, `dirty`,
/// of which none is held while another is taken, but for `ScratchMemory` below `SecretFile.state`. The kernel is
/// notified under none of them.
///
/// Names and attributes are never cached by the kernel: each look is a look at the disk, so what `pass`, `git` or
/// anybody else changes in a store is seen at once.
public final class StoreFilesystem: Filesystem {
    /// What can be set of a mount.
    public struct Options: Sendable {
        /// The size in bytes that no secret may exceed (`limits.secret`).
        public var secretLimit: Int
        /// The bytes that all scratch files may take together (`limits.scratch`).
        public var scratchLimit = 64 << 20
        /// Shell patterns of scratch names besides the known ones (`mount.scratch`).
        public var scratchPatterns: [String] = []
        /// How long a secret that was renamed to a scratch name stays on disk (`mount.grace`).
        public var grace = Duration.seconds(10)

        /// Options with their defaults.
        public init(secretLimit: Int = 64 << 20) {
            self.secretLimit = secretLimit
        }
    }

    let tree = Tree()
    let handles = Handles()
    let options: Options
    let scratchNames: ScratchNames
    let scratchMemory: ScratchMemory
    /// Secrets whose content is newer than the disk.
    let dirty = Mutex<[InodeNumber: Node]>([:])
    /// Those of them that are lists of recipients and could not be saved; one that is saved since may still be among them.
    let failedLists = Mutex<[InodeNumber: Node]>([:])
    let notifier = Mutex<Notifier?>(nil)
    let started = FileTime.now
    let userID = geteuid()
    let groupID = getegid()
    /// Notifies the kernel, and ends grace times.
    let background = DispatchQueue(label: "passdir.background")
    let stores = Mutex<[(name: Name, store: MountedStore)]>([])
    /// Stores that are no longer shown, with their tops.
    let concealed = Mutex<[(node: Node, store: MountedStore)]>([])

    /// How long the kernel may keep names and attributes, in seconds.
    let timeout = 0.0

    /// A file system without stores.
    public init(options: Options) {
        self.options = options
        scratchNames = ScratchNames(additional: options.scratchPatterns)
        scratchMemory = ScratchMemory(limit: options.scratchLimit)
    }

    /// The kernel can be notified from now on.
    public func mounted(_ notifier: Notifier) {
        self.notifier.withLock { $0 = notifier }
    }

    /// The kernel is gone; nothing is notified any more.
    public func unmounted() {
        notifier.withLock { $0 = nil }
    }

    /// The kernel gives back lookups of a node.
    public func forget(_ inode: InodeNumber, count: UInt64) {
        tree.forget(inode, count: count)
    }

    /// A folder in which names are looked up or changed, and its store. Where it lies, `place(of:)` tells.
    func folder(_ inode: InodeNumber) throws(Errno) -> (node: Node, store: MountedStore) {
        let node = try tree.node(inode)
        guard node.kind == .directory, let store = node.store else {
            // The mount point itself: stores come and go by configuration, not by mkdir.
            throw node.kind == .root ? .notPermitted : .notDirectory
        }
        guard !store.hasLeft.load(ordering: .acquiring) else { throw .noSuchFileOrDirectory }
        return (node, store)
    }

    /// As `folder`, for a change of the names in it: EROFS where the store is read-only.
    func writableFolder(_ inode: InodeNumber) throws(Errno) -> (node: Node, store: MountedStore) {
        let found = try folder(inode)
        try found.store.checkWritable()
        return found
    }

    /// Where a folder lies. Under the namespace lock: the kernel lets a folder be renamed, or change places with another,
    /// while names in it are looked up and changed.
    func place(of folder: Node) throws(Errno) -> FolderPlace {
        guard let path = tree.backingPath(of: folder) else { throw .noSuchFileOrDirectory }
        return FolderPlace(node: folder, path: path)
    }
}
