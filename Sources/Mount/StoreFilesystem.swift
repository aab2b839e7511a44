import Dispatch
public import Fuse
import Glibc
import OpenPGP
public import Stores
import Synchronization
public import SystemPackage

/// The file system that the kernel shows: all visible stores, each a directory of its own.
///
/// It knows what names look like, what handles and inodes are, and which errno a program sees; how a secret is
/// encrypted is `Stores`', how a change reaches git is its `ChangeSink`'s. The order of locks:
/// `SecretFile.saving`, `MountedStore.namespace`, then one of `Tree`, `Handles`, `SecretFile.state`, `unsaved`, of
/// which none is held while another is taken. The kernel is notified under none of them.
public final class StoreFilesystem: Filesystem {
    let tree = Tree()
    let handles = Handles()
    let secretLimit: Int
    /// Secrets whose content is newer than the disk.
    let dirty = Mutex<[InodeNumber: Node]>([:])
    let notifier = Mutex<Notifier?>(nil)
    let started = FileTime.now
    let userID = geteuid()
    let groupID = getegid()
    let pageForgetting = DispatchQueue(label: "passdir.pages")
    let stores = Mutex<[(name: Name, store: MountedStore)]>([])

    /// How long the kernel may keep names and attributes, in seconds. Zero: other programs change the stores too.
    let timeout = 0.0

    /// A file system without stores; `secretLimit` is `limits.secret` in bytes.
    public init(secretLimit: Int) {
        self.secretLimit = secretLimit
    }

    /// Shows a store under its name. Changes that are durable on disk go to `sink`.
    public func add(_ store: Store, sink: any ChangeSink) throws(Errno) {
        guard let name = Name(store.name), !VisibleName.isHidden(name) else { throw .invalidArgument }
        let mounted = MountedStore(store, sink: sink)
        stores.withLock { $0.append((name, mounted)) }
        tree.add(mounted, name: name)
    }

    public func mounted(_ notifier: Notifier) {
        self.notifier.withLock { $0 = notifier }
    }

    public func unmounted() {
        notifier.withLock { $0 = nil }
    }

    public func forget(_ inode: InodeNumber, count: UInt64) {
        tree.forget(inode, count: count)
    }

    /// The store and the path on disk of a folder in which names are looked up or changed.
    func folder(_ inode: InodeNumber) throws(Errno) -> (node: Node, store: MountedStore, path: FilePath) {
        let node = try tree.node(inode)
        guard case .directory = node.kind, let store = node.store else {
            // The mount point itself: stores come and go by configuration, not by mkdir.
            throw node.kind.isRoot ? .notPermitted : .notDirectory
        }
        guard let path = tree.backingPath(of: node) else { throw .noSuchFileOrDirectory }
        return (node, store, path)
    }
}

extension Node.Kind {
    var isRoot: Bool {
        if case .root = self { true } else { false }
    }
}
