import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    func target(of link: Node) throws(Errno) -> [UInt8] {
        if case .memoryLink(let target) = link.kind { return target }
        let path = try backingPath(ofLink: link)
        let stored = try root.target(ofLink: path)
        if let status = try? root.status(of: path) { seenLinks.noteRead(status) }
        return visibleTarget(of: link, at: path, storedAs: stored)
    }

    /// The target of a link as the mount shows it, for its size, and the access time that it shows.
    func visibleTarget(
        of link: Node, seenAs status: FileStatus
    ) throws(Errno) -> (shown: [UInt8], accessed: FileTime) {
        let path = try backingPath(ofLink: link)
        let seen = try seenLinks.look(at: path, status, in: root)
        return (visibleTarget(of: link, at: path, storedAs: seen.target), seen.accessed)
    }

    private func backingPath(ofLink link: Node) throws(Errno) -> FilePath {
        guard let path = tree.backingPath(of: link) else { throw .staleNFSFileHandle }
        return path
    }

    /// Before the target of a link that is not followed, so that it can be read, listed and copied all the same: nothing has
    /// this name, and whoever looks it up is refused (EACCES).
    static let refusedTarget: Name = ".passdir-refused"

    /// The target of a link as the mount shows it: a link `a.gpg` to `b.gpg` is `a` to `b`, and one by an absolute path within
    /// the store a relative one. A link that leads out of its store is shown but not followed. Nor is one to a list of
    /// recipients or to a scratch name: what is saved under a secret's name must not become a list of readers, or nothing.
    private func visibleTarget(of node: Node, at path: FilePath, storedAs stored: [UInt8]) -> [UInt8] {
        let folder = path.removingLastComponent()
        let target = relative(stored, from: folder, to: root.path)
        guard staysInside(target, from: folder), isForSecrets(target), keepsRules(node, path, target) else {
            return Array((Self.refusedTarget.string + "/").utf8) + stored
        }
        guard let backing = path.lastComponent, backing.strippingSuffix() != nil,
            let name = target.lastName, let bare = name.strippingSuffix()
        else {
            return target
        }
        // What is there tells its name; what is not there gets the one that it would have.
        let isAnothers = tree.visiblePath(of: node)?.lastComponent == backing
        guard let shown = shownName(of: target, in: path.removingLastComponent()) else {
            return isAnothers ? target : target.replacing(name, with: bare)
        }
        return target.replacing(name, with: shown)
    }

    /// Whether what a link leads to is under the rules of the link's own place.
    private func keepsRules(_ link: Node, _ path: FilePath, _ target: [UInt8]) -> Bool {
        guard let judge = mount.options.judge, judge.isWatching,
            let place = place(of: target, in: path.removingLastComponent())
        else { return true }
        let other = "\(store.name)/\(store.visiblePath(of: place))"
        let names = [store.visiblePath(of: path), path, tree.visiblePath(of: link) ?? path]
        return names.allSatisfy { judge.rulesHold(forLinkIn: "\(store.name)/\($0)", to: other) }
    }

    func isForSecrets(_ target: [UInt8]) -> Bool {
        guard let name = target.lastName else { return true }
        return ![name, name.strippingSuffix() ?? name].contains { last in
            last == Store.recipientFileName || last == Store.signatureFileName
                || mount.scratchNames.match(last)
        }
    }

    /// An absolute target below `top`, as a relative one of a link in a folder; any other target as it is.
    func relative(_ target: [UInt8], from folder: FilePath, to top: FilePath) -> [UInt8] {
        guard let path = FilePath(bytes: target), path.isAbsolute, path.starts(with: top) else {
            return target
        }
        let ups = Array(repeating: "..", count: folder.components.count)
        let downs = path.components.dropFirst(top.components.count).map(\.bytes)
        let parts = ups.map { Array($0.utf8) } + downs
        return parts.isEmpty ? Array(".".utf8) : Array(parts.joined(separator: [UInt8(ascii: "/")]))
    }

    /// As above, of a target below the store's folder, or below the store as it is seen in the mount.
    private func relative(_ target: [UInt8], from folder: FilePath) -> [UInt8] {
        let shown = mount.options.mountPoint?.appending(store.name)
        return [shown, root.path].compactMap(\.self).reduce(target) { relative($0, from: folder, to: $1) }
    }

    /// The name by which the mount shows what a link on disk leads to; nil where there is nothing.
    private func shownName(of target: [UInt8], in folder: FilePath) -> Name? {
        guard let path = place(of: target, in: folder), let name = path.lastComponent else { return nil }
        let shown = try? VisibleName.ofEntry(
            name, in: path.removingLastComponent(), of: root, keeping: kept.include)
        return shown ?? nil
    }

    /// symlink(2): inside the store, else EPERM; a link to a secret is made as pass would make it.
    func makeSymbolicLink(_ name: Name, in folder: Node, to target: [UInt8]) throws(Errno) -> Entry {
        if mount.scratchNames.match(name) { return try makeMemoryLink(name, target, folder) }
        guard !VisibleName.isHidden(name) else { throw .notPermitted }
        let (node, linkPath, others, changed) = try inNamespace(of: folder) { place throws(Errno) in
            let path = place.path
            let target = self.relative(target, from: path)
            guard self.staysInside(target, from: path) else { throw .notPermitted }
            guard try self.isFree(name, in: place) else { throw .fileExists }
            try checkIsVacant(name, in: folder)
            let found = self.place(of: target, in: path).flatMap { self.resolveTarget($0) }
            // A link that is called `.gpg` would be shown without it.
            let hasSuffix = name.strippingSuffix() != nil || found?.isToSecret == true
            let backing = hasSuffix ? try self.newBackingName(name, in: path) : name
            let linkPath = path.appending(backing)
            try self.checkPlace(linkPath, of: .symbolicLink)
            let stored =
                found.map { $0.replacingName(in: target) }
                ?? (hasSuffix ? target + Name.secretSuffix : target)
            let changed = try root.folder(holding: linkPath)
            if parked.status(at: linkPath) != nil {
                // As a save would, the link takes the place of what was renamed away.
                try root.unlink(linkPath)
                parked.remove(linkPath)
            }
            try root.makeSymbolicLink(linkPath, to: stored)
            let node = self.tree.insert(.symbolicLink, name: name, backing: backing, in: folder)
            let changes = hasSuffix ? [] : self.watch(node)
            return (node, linkPath, changes + self.settleLinks(to: node), changed)
        }
        try changed.synchronize()
        expireBeside(node)
        sink.note(.saved(linkPath))
        tell(others)
        return try entry(node)
    }

    /// The lock of an editor: its target names a user and a process, not a file.
    private func makeMemoryLink(
        _ name: Name, _ target: [UInt8], _ folder: Node
    ) throws(Errno) -> Entry {
        guard !target.contains(UInt8(ascii: "/")) else { throw .notPermitted }
        let node = try inNamespace(of: folder) { place throws(Errno) in
            guard try isFree(name, in: place) else { throw .fileExists }
            try checkIsVacant(name, in: folder)
            let node = tree.insert(.memoryLink(target), name: name, backing: name, in: folder)
            tree.pin(node)
            return node
        }
        return try entry(node)
    }

    /// Whether a target, as it stands in a link in `directory`, stays below the store's folder: relative, `..` only at
    /// its beginning and not more often than the folder is deep. A `..` behind a name could lead out where that
    /// name is a link itself.
    func staysInside(_ target: [UInt8], from directory: FilePath) -> Bool {
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
                if component.string == ".git" || component == Self.refusedTarget { return false }
            }
        }
        return true
    }

    /// Where a target leads by its text, as a path in the store; nil where that is the store's folder itself.
    func place(of target: [UInt8], in folder: FilePath) -> FilePath? {
        guard let relative = FilePath(bytes: target) else { return nil }
        let path = folder.pushing(relative).lexicallyNormalized()
        return path.lastComponent?.kind == .regular ? path : nil
    }

    /// What a path, as the mount shows it, stands for on disk; nil where there is nothing that a link could name.
    func resolveTarget(_ path: FilePath) -> BackingEntry? {
        guard let name = path.lastComponent else { return nil }
        let found = try? VisibleName.resolve(
            name, in: path.removingLastComponent(), of: root, keeping: kept.include)
        return found ?? nil
    }
}

extension BackingEntry {
    /// Whether a link to it is one that pass follows to a secret, with `.gpg` in its own name and in its target.
    var isToSecret: Bool { (kind == .secret || kind == .symbolicLink) && name.strippingSuffix() != nil }

    /// A target that leads here, with the name on disk.
    func replacingName(in target: [UInt8]) -> [UInt8] {
        target.lastName.map { target.replacing($0, with: name) } ?? target
    }
}

extension [UInt8] {
    /// The last component of a path that ends with one; nil for `..` and for what ends with a slash.
    var lastName: Name? {
        guard last != UInt8(ascii: "/"), let name = FilePath(bytes: self)?.lastComponent,
            name.kind == .regular
        else { return nil }
        return name
    }

    /// The path with another last component.
    func replacing(_ last: Name, with other: Name) -> [UInt8] {
        dropLast(last.byteCount) + other.bytes
    }
}

extension FilePath {
    /// A path from the bytes of the system; nil when they hold a NUL.
    fileprivate init?(bytes: [UInt8]) {
        guard !bytes.contains(0) else { return nil }
        self.init(platformString: bytes.map { CChar(bitPattern: $0) } + [0])
    }
}
