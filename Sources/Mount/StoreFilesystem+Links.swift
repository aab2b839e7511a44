public import Fuse
import Stores
import Synchronization
public import SystemPackage

extension StoreFilesystem {
    /// readlink(2): a link that leads out of its store is EACCES.
    public func readSymbolicLink(_ request: Request, _ inode: InodeNumber) throws(Errno) -> [UInt8] {
        let node = try tree.node(inode)
        if case .memoryLink(let target) = node.kind { return target }
        return try visibleTarget(of: node)
    }

    /// The target of a link as the mount shows it: a link `a.gpg` to `b.gpg` is `a` to `b`. A link that leads out of
    /// its store is shown but not followed: EACCES.
    func visibleTarget(of node: Node) throws(Errno) -> [UInt8] {
        guard let store = node.store, let path = tree.backingPath(of: node), let backing = path.lastComponent
        else {
            throw .staleNFSFileHandle
        }
        let target = try store.store.root.target(ofLink: path)
        guard staysInside(target, from: path.removingLastComponent()) else { throw .permissionDenied }
        let suffix = Array(".gpg".utf8)
        guard tree.visiblePath(of: node)?.lastComponent != backing, target.count > suffix.count,
            target.suffix(suffix.count).elementsEqual(suffix)
        else { return target }
        return Array(target.dropLast(suffix.count))
    }

    /// symlink(2): inside the store, else EPERM; a link to a secret is made as pass would make it.
    public func makeSymbolicLink(
        _ request: Request, in parent: InodeNumber, name: Name, target: [UInt8]
    ) throws(Errno) -> Entry {
        let (folderNode, store, path) = try writableFolder(parent)
        if scratchNames.match(name) { return try makeMemoryLink(name, target, folderNode, store, path) }
        guard !VisibleName.isHidden(name), staysInside(target, from: path) else { throw .notPermitted }
        let (node, linkPath) = try store.namespace.withLock { _ throws(Errno) -> (Node, FilePath) in
            guard try self.isFree(name, in: folderNode, at: path, of: store) else { throw .fileExists }
            // A link that is called `.gpg` would be shown without it.
            let isNamedSo = name.strippingSuffix() != nil
            let leadsThere = try self.leadsToSecret(target, from: path, of: store)
            let isToSecret = isNamedSo || leadsThere
            let backing = isToSecret ? try self.newBackingName(name, in: path, of: store) : name
            let linkPath = path.appending(backing)
            try self.checkLength(linkPath)
            try store.store.root.makeSymbolicLink(
                linkPath, to: isToSecret ? target + Array(".gpg".utf8) : target)
            return (self.tree.insert(.symbolicLink, name: name, backing: backing, in: folderNode), linkPath)
        }
        try store.store.root.synchronizeParent(of: linkPath)
        store.sink.note(.saved(linkPath))
        return try entry(node)
    }

    /// The lock of an editor: its target names a user and a process, not a file.
    private func makeMemoryLink(
        _ name: Name, _ target: [UInt8], _ folder: Node, _ store: MountedStore, _ path: FilePath
    ) throws(Errno) -> Entry {
        guard !target.contains(UInt8(ascii: "/")) else { throw .notPermitted }
        let node = try store.namespace.withLock { _ throws(Errno) in
            guard try self.isFree(name, in: folder, at: path, of: store) else { throw .fileExists }
            let node = self.tree.insert(.memoryLink(target), name: name, backing: name, in: folder)
            self.tree.pin(node)
            return node
        }
        return try entry(node)
    }

    /// Whether a target, as it stands in a link in `directory`, stays below the store's folder: relative, `..` only at
    /// its beginning and not more often than the folder is deep. A `..` behind a name could lead out where that
    /// name is a link itself.
    private func staysInside(_ target: [UInt8], from directory: FilePath) -> Bool {
        guard let path = FilePath(bytes: target), path.isRelative, !target.isEmpty else { return false }
        var depth = directory.components.count
        var hasDescended = false
        for component in path.components {
            switch component.kind {
            case .parentDirectory:
                guard !hasDescended, depth > 0 else { return false }
                depth -= 1
            case .currentDirectory: continue
            case .regular:
                hasDescended = true
                if component.string == ".git" { return false }
            }
        }
        return true
    }

    /// Whether the visible target names a secret that lies on disk with `.gpg` behind its name.
    private func leadsToSecret(
        _ target: [UInt8], from directory: FilePath, of store: MountedStore
    ) throws(Errno) -> Bool {
        guard let relative = FilePath(bytes: target) else { return false }
        let path = directory.pushing(relative).lexicallyNormalized()
        guard let name = path.lastComponent, name.kind == .regular else { return false }
        do {
            let found = try VisibleName.resolve(
                name, in: path.removingLastComponent(), of: store.store.root, keeping: store.kept)
            guard let found else { return false }
            return (found.kind == .secret || found.kind == .symbolicLink)
                && found.name == name.appendingSuffix()
        } catch .noSuchFileOrDirectory {
            return false
        } catch .notDirectory {
            return false
        } catch .tooManySymbolicLinkLevels {
            return false
        }
    }
}

extension FilePath {
    /// A path from the bytes of the system; nil when they hold a NUL.
    fileprivate init?(bytes: [UInt8]) {
        guard !bytes.contains(0) else { return nil }
        self.init(platformString: bytes.map { CChar(bitPattern: $0) } + [0])
    }
}
