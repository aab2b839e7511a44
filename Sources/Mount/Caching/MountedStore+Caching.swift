import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// What the kernel may keep of what it is told, and when it is told that this has changed.
extension MountedStore {
    /// Sees to it that the kernel is told what changes in a folder from now on.
    /// - Returns: whether it is: only then the kernel may keep names of it.
    func watchFolder(_ folder: Node) -> Bool {
        guard mount.kernel.withLock({ $0 != nil }), folder.kind == .directory,
            let path = tree.backingPath(of: folder)
        else { return false }
        if !path.isEmpty {
            guard let parent = tree.parent(of: folder), watchFolder(parent) else { return false }
        }
        return mount.watches.include(folder, of: self) || mount.watches.add(folder, at: path, of: self)
    }

    /// What a look-up is answered with.
    /// - Parameter isWatched: whether the folder that the name is in was watched before it was looked at.
    func entry(_ node: Node, _ attributes: Attributes, isWatched: Bool) -> Entry {
        let isKept: Bool =
            switch node.kind {
            case .directory: mount.watches.include(node, of: self)
            default: isWatched && isSettled(node)
            }
        return Entry(
            inode: node.inode, attributes: attributes, attributeTimeout: isKept ? MountState.timeout : 0,
            entryTimeout: isWatched ? MountState.timeout : 0)
    }

    func attributeTimeout(of node: Node) -> Double {
        let folder = node.kind == .directory ? node : tree.parent(of: node)
        guard let folder, watchFolder(folder), isSettled(node) else { return 0 }
        return MountState.timeout
    }

    /// Whether what is told of a node changes only when the disk does. A symbolic link's length is that of its target's
    /// visible name, which depends on what lies elsewhere.
    private func isSettled(_ node: Node) -> Bool {
        switch node.kind {
        case .root, .directory, .plain: true
        case .symbolicLink, .memoryLink: false
        case .secret: !node.isOnlyInMemory
        }
    }

    /// Tells the kernel of what has happened to a name on disk, by whomever.
    /// - Parameter name: empty for the folder itself.
    func takeIn(_ name: [UInt8], in folder: Node, isFolder: Bool) {
        mount.forgetAttributes(of: folder)
        guard let name = Name(bytes: name), !VisibleName.isHidden(name) else { return }
        // By what it is shown, and whose `.gpg` may be shown or not because of it.
        let visible = [name, name.strippingSuffix(), name.appendingSuffix()].compactMap(\.self)
        for name in visible { takeIn(name, in: folder, isFolder: isFolder) }
    }

    private func takeIn(_ name: Name, in folder: Node, isFolder: Bool) {
        guard let kernel = mount.kernel.withLock({ $0 }) else { return }
        let (before, after) = namespace.withLock { _ -> (Node?, Node?) in
            guard let before = tree.child(name, of: folder) else { return (nil, nil) }
            do throws(Errno) {
                let (after, _) = try find(name, in: place(of: folder))
                tree.forget(after.inode, count: 1)
                return (before, after)
            } catch {
                return (before, error == .noSuchFileOrDirectory ? nil : before)
            }
        }
        if let before, before === after { return mount.forgetAttributes(of: before) }
        // What we did ourselves the kernel has done, too. A name that it holds of a folder may be a new one's, in which
        // somebody stands already; any other it just looks up again.
        if before != nil || !isFolder { kernel.invalidateEntry(parent: folder.inode, name: name) }
    }
}
