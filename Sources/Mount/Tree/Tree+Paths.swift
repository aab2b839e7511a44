import Fuse
import Stores
import SystemPackage

/// What nodes are called, in the mount and on disk.
extension Tree {
    /// The path on disk of a node, relative to its store; nil when it has no name any more.
    func backingPath(of node: Node) -> FilePath? {
        places(to: node).map { places in
            FilePath(joining: places.map { $0.backing == .suffixed ? $0.name + Name.secretSuffix : $0.name })
        }
    }

    /// What a node is called on disk; nil when it has no name any more, and for a store.
    func backingName(of node: Node) -> Name? {
        guard let place = place(of: node), place.backing != .none else { return nil }
        return Name(bytes: place.backing == .suffixed ? place.name + Name.secretSuffix : place.name)
    }

    /// The path of a node below its store as the mount shows it; nil when it has no name any more.
    func visiblePath(of node: Node) -> FilePath? {
        places(to: node).map { FilePath(joining: $0.map(\.name)) }
    }

    /// As `visiblePath`, of a node that others took the name of on disk: the path that it had.
    func formerPath(of node: Node) -> FilePath? {
        guard let place = lostPlace(of: node), let name = Name(bytes: place.name) else { return nil }
        return visiblePath(of: place.parent)?.appending(name)
    }

    /// A node's visible path as text, behind the name of its store; nil where it has none.
    func visibleText(of node: Node, behind store: String) -> String? {
        places(to: node).map { places in
            let text = places.reduce(into: Array(store.utf8)) { $0 += [UInt8(ascii: "/")] + $1.name }
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// Whether a node has this very name, in the mount as on disk, and not just one that ends in `.gpg` there.
    func isCalled(_ name: [UInt8], onDisk node: Node) -> Bool {
        guard let place = place(of: node) else { return false }
        return place.backing == .same && place.name == name
    }
}
