import Fuse
import Stores
import Synchronization
import SystemPackage

/// Which nodes exist, under which names, and how often the kernel holds each.
///
/// A node lives while the kernel holds a lookup of it, while it is pinned because its content is not on disk, or
/// while it has such children. As inode numbers are made from names, the number of a name is where its node is
/// looked for; only nodes whose number was taken are kept by name.
final class Tree: Sendable {
    private let state = Mutex(State())
    /// The mount point itself.
    let root = Node(inode: .root, kind: .root, subtree: nil)

    init() {
        state.withLock { $0.nodes[.root] = root }
    }

    /// The node of a number that the kernel named.
    func node(_ inode: InodeNumber) throws(Errno) -> Node {
        guard let node = state.withLock({ $0.nodes[inode] }) else { throw .staleNFSFileHandle }
        return node
    }

    /// Shows the topmost node of a subtree in the mount point.
    func add(_ subtree: any Subtree, _ kind: Node.Kind, name: Name) {
        state.withLock { _ = addTop(subtree, kind, name, &$0) }
    }

    private func addTop(
        _ subtree: any Subtree, _ kind: Node.Kind, _ name: Name, _ state: inout State
    ) -> Node {
        let place = NodePlace(parent: root, name: name.bytes, backing: .none)
        let node = Node(inode: state.freeNumber(place), kind: kind, subtree: subtree)
        state.nodes[node.inode] = node
        state.pinned[node.inode] = 1
        state.link(node, place)
        return node
    }

    /// Takes a store out of the mount point; what is open below it keeps its path on disk, so that it can be saved.
    func conceal(_ node: Node) {
        state.withLock { state in
            state.unlink(node)
            // No name that a program can say has a NUL in it.
            let hidden = [0] + Array("\(node.inode.rawValue)".utf8)
            state.link(node, NodePlace(parent: root, name: hidden, backing: .none))
            // The pin of `add`.
            state.pinned[node.inode] = nil
            state.removeIfUnused(node)
        }
    }

    /// Shows a store again that was concealed, with what is open or unsaved of it. Its top is another node: the kernel
    /// was told that the old one is gone, and whoever still stands in it is to notice.
    func reveal(_ concealed: Node, _ subtree: any Subtree, name: Name) {
        state.withLock { state in
            let node = addTop(subtree, .directory, name, &state)
            for child in state.nodes.values.filter({ $0.record.place?.parent === concealed }) {
                guard let old = child.record.place else { continue }
                state.unlink(child)
                state.link(child, NodePlace(parent: node, name: old.name, backing: old.backing))
            }
            for (inode, old) in state.lost where old.parent === concealed {
                state.lost[inode] = NodePlace(parent: node, name: old.name, backing: old.backing)
                concealed.record.children -= 1
                node.record.children += 1
            }
            state.unlink(concealed)
        }
    }

    /// Shows a store under another name.
    func renameStore(_ node: Node, to name: Name) {
        state.withLock { state in
            state.unlink(node)
            state.link(node, NodePlace(parent: root, name: name.bytes, backing: .none))
        }
    }

    /// While this is the same, all that had a name has it still.
    var renames: UInt64 { state.withLock { $0.renames } }

    /// Where a node is; nil when it has no name any more.
    func place(of node: Node) -> NodePlace? { state.withLock { _ in node.record.place } }

    /// The places from below a store to a node; nil when it has no name any more.
    func places(to node: Node) -> [NodePlace]? {
        state.withLock { _ -> [NodePlace]? in
            var places: [NodePlace] = []
            var node = node
            while node !== root {
                guard let place = node.record.place else { return nil }
                if place.backing != .none { places.append(place) }
                node = place.parent
            }
            places.reverse()
            return places
        }
    }

    /// Whether a node lies in a folder or in one of its folders, or did so until others took its name away on disk.
    func isBelow(_ node: Node, _ folder: Node) -> Bool {
        state.withLock { state in
            var node = node
            while let place = node.record.place ?? state.lost[node.inode] {
                node = place.parent
                if node === folder { return true }
            }
            return false
        }
    }

    /// Whether a secret anywhere below a folder is open for writing, or newer than the disk.
    func hasWriter(below folder: Node) -> Bool {
        let files = state.withLock { state in state.nodes.values.filter { $0.secret != nil } }
        return files.contains { node in
            node.secret?.state.withLock { $0.writers > 0 || $0.isDirty } == true && isBelow(node, folder)
        }
    }

    /// The secrets of a subtree that are known, those whose content somebody uses first.
    func secrets(of subtree: any Subtree) -> [Node] {
        let all = state.withLock { state in
            state.nodes.values.filter { $0.kind == .secret && $0.subtree === subtree }
        }
        return all.filter { $0.secret != nil } + all.filter { $0.secret == nil }
    }

    /// The number that the entry of a folder has, or will have when it is looked up.
    func inode(of name: Name, in parent: Node) -> InodeNumber {
        state.withLock { state in
            let place = NodePlace(parent: parent, name: name.bytes, backing: .same)
            return state.child(place)?.inode ?? state.freeNumber(place)
        }
    }

    /// The known node under a name.
    func child(_ name: Name, of parent: Node) -> Node? {
        state.withLock { $0.child(NodePlace(parent: parent, name: name.bytes, backing: .same)) }
    }

    /// The nodes of a folder that are pinned, with their names.
    func pinnedChildren(of parent: Node) -> [(name: Name, node: Node)] {
        state.withLock { state in
            state.pinned.keys.compactMap { inode in
                guard let node = state.nodes[inode], let place = node.record.place, place.parent === parent,
                    let name = Name(bytes: place.name)
                else { return nil }
                return (name, node)
            }
        }
    }

    /// A new node under a name, in place of any other; the kernel is told of it, so a lookup is counted.
    func insert(
        _ kind: Node.Kind, name: Name, backing: Name, in parent: Node, file: SecretFile? = nil
    ) -> Node {
        let place = NodePlace(parent: parent, name: name, backing: backing)
        return state.withLock { $0.insert(kind, place, parent.subtree, file: file) }
    }

    /// The node of a name of a view, with a lookup counted: the one that is known, or a new one in place of any other. In one
    /// step, as no lock of a store keeps two apart who look up the same name.
    /// - Parameters:
    ///   - subtree: what answers for it.
    ///   - past: what it stands for of a history; nil elsewhere.
    func shown(
        _ kind: Node.Kind, name: Name, in parent: Node, _ subtree: (any Subtree)?, past: PastItem? = nil
    ) -> Node {
        let place = NodePlace(parent: parent, name: name, backing: name)
        return state.withLock { state in
            guard let known = state.child(place), known.kind == kind, known.past == past else {
                return state.insert(kind, place, subtree, past: past)
            }
            known.record.lookups += 1
            return known
        }
    }

    /// Counts one more lookup by the kernel.
    /// - Returns: false where the kernel has forgotten the node since it was found here: it stands for nothing any more.
    func countLookup(of node: Node) -> Bool {
        state.withLock { state in
            guard state.nodes[node.inode] === node else { return false }
            node.record.lookups += 1
            return true
        }
    }

    /// The kernel gives back lookups.
    func forget(_ inode: InodeNumber, count: UInt64) {
        state.withLock { state in
            guard let node = state.nodes[inode] else { return }
            let lookups = node.record.lookups
            node.record.lookups = lookups > count ? lookups - count : 0
            state.removeIfUnused(node)
        }
    }

    /// Keeps a node although the kernel may forget it.
    func pin(_ node: Node) {
        state.withLock { $0.pinned[node.inode, default: 0] += 1 }
    }

    /// Ends a `pin`.
    func unpin(_ node: Node) {
        state.withLock { state in
            guard let pins = state.pinned[node.inode] else { return }
            state.pinned[node.inode] = pins > 1 ? pins - 1 : nil
            state.removeIfUnused(node)
        }
    }

    /// Takes a node's name away. Open handles go on.
    func detach(_ node: Node) {
        state.withLock { $0.unlink(node) }
    }

    /// As `detach`, because others did so on disk: what a program still writes to it is to be saved there.
    func lose(_ node: Node) {
        state.withLock { $0.lose(node) }
    }

    /// Where a node was shown until others replaced or removed it on disk; nil while it has a name, and where it lost that
    /// in the mount.
    func lostPlace(of node: Node) -> NodePlace? {
        state.withLock { node.record.place == nil ? $0.lost[node.inode] : nil }
    }

    /// Gives a node another name, in place of any other node there.
    func move(_ node: Node, to parent: Node, name: Name, backing: Name) {
        state.withLock { state in
            let place = NodePlace(parent: parent, name: name, backing: backing)
            state.unlink(node)
            if let old = state.child(place) { state.unlink(old) }
            state.link(node, place)
        }
    }

    /// Swaps the names of two nodes, in the mount and on disk.
    func exchange(_ one: Node, _ other: Node) {
        state.withLock { state in
            guard let first = one.record.place, let second = other.record.place else { return }
            state.unlink(one)
            state.unlink(other)
            state.link(one, second)
            state.link(other, first)
        }
    }

    /// The parent of a node; nil when it has no name any more.
    func parent(of node: Node) -> Node? {
        state.withLock { _ in node.record.place?.parent }
    }
}
