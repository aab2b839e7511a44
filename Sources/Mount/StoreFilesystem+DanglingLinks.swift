import Stores
import System
import SystemPackage

/// A link may come before its secret, as rsync(1) makes it: it is stored as a link to a secret once there is one.
extension StoreFilesystem {
    /// Remembers a link that leads to no secret yet, and stores it as one to a secret if it does. Under the namespace
    /// lock.
    /// - Returns: what must be told with `tell`.
    func watch(_ link: Node, of store: MountedStore) -> [Change] {
        tree.pin(link)
        return settle([link], of: store)
    }

    /// A link has lost its name, or is to be remembered anew.
    func unwatch(_ link: Node, of store: MountedStore) {
        if store.dangling.remove(link) { tree.unpin(link) }
    }

    /// Something has the name of a node now: the links that were made before it are stored as links to a secret if it
    /// is one. Under the namespace lock.
    /// - Returns: what must be told with `tell`.
    func settleLinks(to node: Node, of store: MountedStore) -> [Change] {
        guard let path = tree.visiblePath(of: node) else { return [] }
        return settle(store.dangling.take(at: path), of: store)
    }

    /// As `settleLinks(to:of:)`, after a rename. A link that was renamed may lead to a secret from where it is now, and so
    /// may all in a folder.
    func settleLinks(of move: Move) -> [Change] {
        var changes: [Change] = []
        switch move.node.kind {
        case .directory: return settleAllLinks(of: move.store)
        case .symbolicLink:
            unwatch(move.node, of: move.store)
            changes = watch(move.node, of: move.store)
        default: break
        }
        return changes + settleLinks(to: move.node, of: move.store)
    }

    /// As `settleLinks(to:of:)`, wherever links lead.
    func settleAllLinks(of store: MountedStore) -> [Change] { settle(store.dangling.takeAll(), of: store) }

    /// Makes durable what became of links and hands it to who commits it. What was asked for is done by then: nobody is
    /// told when this fails.
    func tell(_ changes: [Change], of store: MountedStore) {
        for change in changes {
            if case .renamed(_, let path) = change { try? store.store.root.synchronizeParent(of: path) }
            store.sink.note(change)
        }
    }

    /// - Parameter links: pinned, and remembered nowhere.
    private func settle(_ links: [Node], of store: MountedStore) -> [Change] {
        var changes: [Change] = []
        var waiting = links
        while let link = waiting.popLast() {
            let next = try? settle(link, of: store)
            if case .waits(let target) = next {
                store.dangling.add(link, to: target)
                continue
            }
            tree.unpin(link)
            guard case .became(let change) = next, let path = tree.visiblePath(of: link) else { continue }
            changes.append(change)
            // A link to this one leads to the secret, too.
            waiting += store.dangling.take(at: path)
        }
        return changes
    }

    private enum Settled {
        case waits(FilePath)
        case became(Change)
        /// It is none that leads to a secret, or is gone.
        case stays
    }

    private func settle(_ link: Node, of store: MountedStore) throws(Errno) -> Settled {
        let root = store.store.root
        guard let path = tree.backingPath(of: link), let name = path.lastComponent,
            let parent = tree.parent(of: link), tree.visiblePath(of: link) == path
        else { return .stays }
        let folder = path.removingLastComponent()
        let target = try root.target(ofLink: path)
        guard let place = place(of: target, in: folder) else { return .stays }
        guard let found = resolveTarget(place, of: store) else { return .waits(place) }
        guard found.isToSecret else { return found.kind == .symbolicLink ? .waits(place) : .stays }
        let backing = try newBackingName(name, in: folder, of: store)
        let new = folder.appending(backing)
        try root.makeSymbolicLink(new, to: found.replacingName(in: target))
        try root.unlink(path)
        tree.move(link, to: parent, name: name, backing: backing)
        return .became(.renamed(from: path, to: new))
    }
}
