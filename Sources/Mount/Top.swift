import Fuse
import Synchronization
import SystemPackage

/// The mount point itself: its entries are the stores, each a subtree of its own, which come and go by configuration.
final class Top: Subtree {
    struct State {
        /// In the order in which they are listed.
        var entries: [(name: Name, subtree: any Subtree)] = []
        /// Stores that are no longer shown, with their topmost nodes. What is open of them goes on.
        var concealed: [(node: Node, store: MountedStore)] = []

        var stores: [MountedStore] { entries.compactMap { $0.subtree as? MountedStore } }
    }

    private let mount: MountState
    let state = Mutex(State())

    init(_ mount: MountState) {
        self.mount = mount
    }

    /// The stores that are shown, in order.
    var stores: [MountedStore] { state.withLock { $0.stores } }

    /// Those that are shown, and those that are no more.
    var allStores: [MountedStore] { state.withLock { $0.stores + $0.concealed.map(\.store) } }

    /// The names of the entries, in order.
    var names: [Name] { state.withLock { $0.entries.map(\.name) } }

    /// A store that is shown, by name.
    func store(_ name: Name) -> MountedStore? {
        state.withLock { $0.entries.first { $0.name == name } }.flatMap { $0.subtree as? MountedStore }
    }

    /// Has something under a name that no listing shows.
    func addUnlisted(_ subtree: any Subtree, name: Name) {
        mount.tree.add(subtree, .directory, name: name)
    }

    /// Shows something under a name, behind the others.
    func add(_ subtree: any Subtree, _ kind: Node.Kind, name: Name) {
        state.withLock { $0.entries.append((name, subtree)) }
        mount.tree.add(subtree, kind, name: name)
    }

    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        guard let node = mount.tree.child(name, of: folder), let subtree = node.subtree else {
            throw .noSuchFileOrDirectory
        }
        let attributes = try subtree.attributesUnseen(of: node)
        guard mount.tree.countLookup(of: node) else { throw .noSuchFileOrDirectory }
        return Entry(inode: node.inode, attributes: attributes, entryTimeout: MountState.timeout)
    }

    func entries(of folder: Node) -> [ListedEntry] {
        state.withLock { $0.entries.map(\.name) }.compactMap { name in
            mount.tree.child(name, of: folder).map {
                ListedEntry(name: name, inode: $0.inode, kind: $0.fileKind)
            }
        }
    }

    func attributes(of node: Node) -> Attributes {
        mount.attributes(of: node, permissions: 0o700, links: 2 + UInt64(stores.count))
    }

    func setAttributes(
        of node: Node, isOpen: Bool, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) {
        try mount.checkOwnership(changes)
        if changes.size != nil { throw .isDirectory }
    }

    /// Of the first store's disk.
    func statistics() throws(Errno) -> FileSystemStatistics {
        try stores.first?.statistics() ?? FileSystemStatistics(maximumNameLength: 251)
    }
}
