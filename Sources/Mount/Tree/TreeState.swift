import Fuse
import Stores
import SystemPackage

extension Tree {
    struct ChildKey: Hashable {
        var parent: InodeNumber
        var name: [UInt8]
    }

    struct State {
        var nodes: [InodeNumber: Node] = [:]
        /// Nodes that do not have the number of their name.
        var displaced: [ChildKey: InodeNumber] = [:]
        /// Nodes whose content is only in memory.
        var pinned: [InodeNumber: Int] = [:]
        /// Where secrets that are in use were shown until others replaced or removed them on disk. Their folders stay.
        var lost: [InodeNumber: NodePlace] = [:]
        /// How often a node has lost a name.
        var renames: UInt64 = 0
    }
}

extension Tree.State {
    /// The node at a place.
    func child(_ place: NodePlace) -> Node? {
        if let node = nodes[InodeHash.of(place.name, in: place.parent.inode)], node.record.place == place {
            return node
        }
        guard !displaced.isEmpty else { return nil }
        return displaced[Tree.ChildKey(parent: place.parent.inode, name: place.name)].flatMap { nodes[$0] }
    }

    /// A number that no known node has.
    func freeNumber(_ place: NodePlace) -> InodeNumber {
        var candidate = InodeHash.of(place.name, in: place.parent.inode)
        while nodes[candidate] != nil { candidate = InodeHash.next(candidate) }
        return candidate
    }

    /// A new node in place of any other, with one lookup.
    mutating func insert(
        _ kind: Node.Kind, _ place: NodePlace, _ subtree: (any Subtree)?, file: SecretFile? = nil,
        past: PastItem? = nil
    ) -> Node {
        if let old = child(place) { lose(old) }
        let node = Node(inode: freeNumber(place), kind: kind, subtree: subtree, file: file, past: past)
        node.record.lookups = 1
        nodes[node.inode] = node
        link(node, place)
        return node
    }

    mutating func link(_ node: Node, _ place: NodePlace) {
        forgetLost(node)
        node.record.place = place
        place.parent.record.children += 1
        if node.inode != InodeHash.of(place.name, in: place.parent.inode) {
            displaced[Tree.ChildKey(parent: place.parent.inode, name: place.name)] = node.inode
        }
    }

    mutating func unlink(_ node: Node) {
        guard let place = node.record.place else { return }
        node.record.place = nil
        renames += 1
        let key = Tree.ChildKey(parent: place.parent.inode, name: place.name)
        if displaced[key] == node.inode { displaced[key] = nil }
        place.parent.record.children -= 1
        removeIfUnused(place.parent)
    }

    mutating func lose(_ node: Node) {
        if let place = node.record.place, node.secret != nil {
            lost[node.inode] = place
            place.parent.record.children += 1
        }
        unlink(node)
    }

    private mutating func forgetLost(_ node: Node) {
        guard let place = lost.removeValue(forKey: node.inode) else { return }
        place.parent.record.children -= 1
        removeIfUnused(place.parent)
    }

    mutating func removeIfUnused(_ node: Node) {
        guard node.record.lookups == 0, node.record.children == 0, pinned[node.inode] == nil,
            node.inode != .root
        else { return }
        nodes[node.inode] = nil
        unlink(node)
        forgetLost(node)
    }
}
