import Fuse
import Stores
import Synchronization
import SystemPackage

/// Which nodes exist, under which names, and how often the kernel holds each.
///
/// A node lives while the kernel holds a lookup of it, or while it is
/// pinned because its content is not on disk.
final class Tree: Sendable {
    fileprivate struct Record {
        var node: Node
        /// nil once the node has no name any more: unlinked, replaced, or gone on disk.
        var place: Place?
        var lookups: UInt64 = 0
        var pins = 0
    }

    fileprivate struct Place {
        var parent: InodeNumber
        var name: Name
        /// The name on disk; empty for the folder of a store.
        var backing: Name?
    }

    fileprivate struct State {
        var records: [InodeNumber: Record] = [:]
        var children: [InodeNumber: [Name: InodeNumber]] = [:]

        mutating func unlink(_ inode: InodeNumber) {
            guard let place = records[inode]?.place else { return }
            records[inode]?.place = nil
            if children[place.parent]?[place.name] == inode {
                children[place.parent]?[place.name] = nil
                if children[place.parent]?.isEmpty == true { children[place.parent] = nil }
            }
        }

        mutating func link(_ inode: InodeNumber, _ place: Place) {
            if let old = children[place.parent]?[place.name], old != inode { unlink(old) }
            records[inode]?.place = place
            children[place.parent, default: [:]][place.name] = inode
        }

        mutating func removeIfUnused(_ inode: InodeNumber) {
            guard let record = records[inode], record.lookups == 0, record.pins == 0,
                inode != .root, children[inode] == nil
            else { return }
            let parent = record.place?.parent
            unlink(inode)
            records[inode] = nil
            // A folder that waited only for its last child goes with it.
            if let parent { removeIfUnused(parent) }
        }
    }

    private let state = Mutex(State())
    /// The mount point itself.
    let root = Node(inode: .root, kind: .root, store: nil)

    init() {
        state.withLock { $0.records[.root] = Record(node: root) }
    }

    /// The node of a number that the kernel named.
    func node(_ inode: InodeNumber) throws(Errno) -> Node {
        guard let node = state.withLock({ $0.records[inode]?.node }) else { throw .staleNFSFileHandle }
        return node
    }

    /// Shows a store under its name.
    func add(_ store: MountedStore, name: Name) {
        state.withLock { state in
            let inode = state.newInode(for: name, in: .root)
            state.records[inode] = Record(node: Node(inode: inode, kind: .directory, store: store), pins: 1)
            state.link(inode, Place(parent: .root, name: name, backing: nil))
        }
    }

    /// Takes a store out of the mount point; what is open below it keeps its path on disk, so that it can be saved.
    func conceal(_ node: Node) {
        state.withLock { state in
            guard let place = state.records[node.inode]?.place else { return }
            if state.children[place.parent]?[place.name] == node.inode {
                state.children[place.parent]?[place.name] = nil
            }
            // The pin of `add`.
            state.records[node.inode]?.pins -= 1
            state.removeIfUnused(node.inode)
        }
    }

    /// Shows a store under another name.
    func renameStore(_ node: Node, to name: Name) {
        state.withLock { state in
            state.unlink(node.inode)
            state.link(node.inode, Place(parent: .root, name: name, backing: nil))
        }
    }

    /// The path on disk of a node, relative to its store; nil when it has no name any more.
    func backingPath(of node: Node) -> FilePath? {
        path(of: node, \.backing)
    }

    /// The path of a node below its store as the mount shows it; nil when it has no name any more.
    func visiblePath(of node: Node) -> FilePath? {
        path(of: node) { $0.backing == nil ? nil : $0.name }
    }

    private func path(of node: Node, _ component: (Place) -> Name?) -> FilePath? {
        state.withLock { state -> FilePath? in
            var components: [Name] = []
            var inode = node.inode
            while inode != .root {
                guard let place = state.records[inode]?.place else { return nil }
                if let name = component(place) { components.append(name) }
                inode = place.parent
            }
            return FilePath(root: nil, components.reversed())
        }
    }

    /// The number that the entry of a folder has, or will have when it is looked up.
    func inode(of name: Name, in parent: Node) -> InodeNumber {
        state.withLock { state in
            state.children[parent.inode]?[name] ?? state.newInode(for: name, in: parent.inode)
        }
    }

    /// The known node under a name.
    func child(_ name: Name, of parent: Node) -> Node? {
        state.withLock { state in
            state.children[parent.inode]?[name].flatMap { state.records[$0]?.node }
        }
    }

    /// All known nodes of a folder.
    func children(of parent: Node) -> [(name: Name, node: Node)] {
        state.withLock { state in
            (state.children[parent.inode] ?? [:]).compactMap { name, inode in
                state.records[inode].map { (name, $0.node) }
            }
        }
    }

    /// A new node under a name, in place of any other; the kernel is told of it, so a lookup is counted.
    func insert(
        _ kind: Node.Kind, name: Name, backing: Name, in parent: Node, file: SecretFile? = nil
    ) -> Node {
        state.withLock { state in
            let inode = state.newInode(for: name, in: parent.inode)
            let node = Node(inode: inode, kind: kind, store: parent.store, file: file)
            state.records[inode] = Record(node: node, lookups: 1)
            state.link(inode, Place(parent: parent.inode, name: name, backing: backing))
            return node
        }
    }

    /// Counts one more lookup by the kernel.
    func countLookup(of node: Node) {
        state.withLock { $0.records[node.inode]?.lookups += 1 }
    }

    /// The kernel gives back lookups.
    func forget(_ inode: InodeNumber, count: UInt64) {
        state.withLock { state in
            guard let lookups = state.records[inode]?.lookups else { return }
            state.records[inode]?.lookups = lookups > count ? lookups - count : 0
            state.removeIfUnused(inode)
        }
    }

    /// Keeps a node although the kernel may forget it.
    func pin(_ node: Node) {
        state.withLock { $0.records[node.inode]?.pins += 1 }
    }

    /// Ends a `pin`.
    func unpin(_ node: Node) {
        state.withLock { state in
            guard let pins = state.records[node.inode]?.pins, pins > 0 else { return }
            state.records[node.inode]?.pins = pins - 1
            state.removeIfUnused(node.inode)
        }
    }

    /// Takes a node's name away. Open handles go on.
    func detach(_ node: Node) {
        state.withLock { $0.unlink(node.inode) }
    }

    /// Gives a node another name, in place of any other node there.
    func move(_ node: Node, to parent: Node, name: Name, backing: Name) {
        state.withLock { state in
            state.unlink(node.inode)
            state.link(node.inode, Place(parent: parent.inode, name: name, backing: backing))
        }
    }

    /// Swaps the names of two nodes, in the mount and on disk.
    func exchange(_ one: Node, _ other: Node) {
        state.withLock { state in
            guard let first = state.records[one.inode]?.place, let second = state.records[other.inode]?.place
            else {
                return
            }
            state.unlink(one.inode)
            state.unlink(other.inode)
            state.link(one.inode, second)
            state.link(other.inode, first)
        }
    }

    /// The parent of a node; nil when it has no name any more.
    func parent(of node: Node) -> Node? {
        state.withLock { state in
            state.records[node.inode]?.place.flatMap { state.records[$0.parent]?.node }
        }
    }
}

extension Tree.State {
    /// A number that no known node has.
    fileprivate func newInode(for name: Name, in parent: InodeNumber) -> InodeNumber {
        var candidate = InodeHash.of(name, in: parent)
        while records[candidate] != nil { candidate = InodeHash.next(candidate) }
        return candidate
    }
}
