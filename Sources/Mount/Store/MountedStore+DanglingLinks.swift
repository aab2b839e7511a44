import Stores
import System
import SystemPackage

/// A link may come before its secret, as rsync(1) makes it: it is stored as a link to a secret once there is one.
extension MountedStore {
    /// Remembers a link that leads to no secret yet, and stores it as one to a secret if it does. Under the namespace
    /// lock.
    /// - Returns: what must be told with `tell`.
    func watch(_ link: Node) -> [Change] {
        tree.pin(link)
        return settle([link])
    }

    /// A link has lost its name, or is to be remembered anew.
    func unwatch(_ link: Node) {
        if dangling.remove(link) { tree.unpin(link) }
    }

    /// Something has the name of a node now: the links that were made before it are stored as links to a secret if it
    /// is one. Under the namespace lock.
    /// - Returns: what must be told with `tell`.
    func settleLinks(to node: Node) -> [Change] {
        guard let path = tree.visiblePath(of: node) else { return [] }
        return settle(dangling.take(at: path))
    }

    /// As `settleLinks(to:of:)`, after a rename. A link that was renamed may lead to a secret from where it is now, and so
    /// may all in a folder.
    func settleLinks(of move: Move) -> [Change] {
        var changes: [Change] = []
        switch move.node.kind {
        case .directory: return settleAllLinks()
        case .symbolicLink:
            unwatch(move.node)
            changes = watch(move.node)
        default: break
        }
        return changes + settleLinks(to: move.node)
    }

    /// As `settleLinks(to:of:)`, wherever links lead.
    func settleAllLinks() -> [Change] { settle(dangling.takeAll()) }

    /// Makes durable what became of links and hands it to who commits it. What was asked for is done by then: nobody is
    /// told when this fails.
    func tell(_ changes: [Change]) {
        for change in changes {
            if case .renamed(_, let path) = change { try? root.synchronizeParent(of: path) }
            sink.note(change)
        }
    }

    /// - Parameter links: pinned, and remembered nowhere.
    private func settle(_ links: [Node]) -> [Change] {
        var changes: [Change] = []
        var waiting = links
        while let link = waiting.popLast() {
            let next = try? settle(link)
            if case .waits(let target) = next {
                dangling.add(link, to: target)
                continue
            }
            // Not before its path is known: the kernel may have forgotten it.
            defer { tree.unpin(link) }
            guard case .became(let change) = next, let path = tree.visiblePath(of: link) else { continue }
            changes.append(change)
            // A link to this one leads to the secret, too.
            waiting += dangling.take(at: path)
        }
        return changes
    }

    private enum Settled {
        case waits(FilePath)
        case became(Change)
        /// It is none that leads to a secret, or is gone.
        case stays
    }

    private func settle(_ link: Node) throws(Errno) -> Settled {
        guard let path = tree.backingPath(of: link), let name = path.lastComponent,
            let parent = tree.parent(of: link), tree.visiblePath(of: link) == path
        else { return .stays }
        let folder = path.removingLastComponent()
        let status = try root.status(of: path)
        let (target, accessed) = try seenLinks.look(at: path, status, in: root)
        guard let place = place(of: target, in: folder) else { return .stays }
        guard let found = resolveTarget(place) else { return .waits(place) }
        guard found.isToSecret else { return found.kind == .symbolicLink ? .waits(place) : .stays }
        let backing = try newBackingName(name, in: folder)
        let new = folder.appending(backing)
        let before = try root.status(of: folder)
        // Nothing that the mount shows comes to the folder, or goes.
        defer { try? root.setTimes(of: folder, accessed: nil, modified: before.identity.modified) }
        try root.makeSymbolicLink(new, to: found.replacingName(in: target))
        // It is the link that was made, by another name.
        try? root.setTimes(of: new, accessed: accessed, modified: status.identity.modified)
        try root.unlink(path)
        tree.move(link, to: parent, name: name, backing: backing)
        return .became(.renamed(from: path, to: new))
    }
}
