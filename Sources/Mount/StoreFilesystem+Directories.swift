public import Fuse
import Stores
import Synchronization
public import SystemPackage

extension StoreFilesystem {
    public func openDirectory(_ request: Request, _ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened {
        let node = try tree.node(inode)
        guard node.fileKind == .directory else { throw .notDirectory }
        return Opened(handle: handles.add(.directory([])))
    }

    public func readDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        guard case .directory(var listing) = handles[handle] else { throw .badFileDescriptor }
        if offset == 0 {
            // From the beginning, first or again (rewinddir): a new look. Offsets into it hold until the next one.
            listing = try list(try tree.node(inode))
            handles[handle] = .directory(listing)
        }
        var index = Int(clamping: offset)
        while index >= 0, index < listing.count {
            let entry = listing[index]
            guard
                buffer.add(
                    name: entry.name, inode: entry.inode, kind: entry.kind, nextOffset: Int64(index + 1))
            else { return }
            index += 1
        }
    }

    private func list(_ node: Node) throws(Errno) -> [Handles.Listed] {
        let parent = tree.parent(of: node) ?? node
        var listing = [
            Handles.Listed(name: Name("."), inode: node.inode, kind: .directory),
            Handles.Listed(name: Name(".."), inode: parent.inode, kind: .directory),
        ]
        let known = tree.children(of: node)
        if node.kind.isRoot {
            let inodes = Dictionary(known.map { ($0.name, $0.node.inode) }, uniquingKeysWith: { first, _ in first })
            for (name, _) in stores.withLock({ $0 }) {
                listing.append(
                    Handles.Listed(name: name, inode: inodes[name] ?? unknownInode, kind: .directory))
            }
            return listing
        }
        guard let store = node.store, let path = tree.backingPath(of: node) else { return listing }
        var unlisted = Dictionary(known.map { ($0.name, $0.node) }, uniquingKeysWith: { first, _ in first })
        for (name, kind) in VisibleName.visible(try store.store.root.entries(of: path)) {
            let known = unlisted.removeValue(forKey: name)
            listing.append(Handles.Listed(name: name, inode: known?.inode ?? unknownInode, kind: kind))
        }
        // What is made but not on disk yet.
        for (name, node) in unlisted {
            guard let file = node.secret, file.state.withLock({ $0.isDirty }) else { continue }
            listing.append(Handles.Listed(name: name, inode: node.inode, kind: .regular))
        }
        return listing
    }

    public func releaseDirectory(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags) {
        handles[handle] = nil
    }

    public func synchronizeDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {
        // Every change of a folder is durable before it is acknowledged.
    }
}

/// What libfuse's own readdir says of an entry whose inode number is not known (FUSE_UNKNOWN_INO).
private let unknownInode = InodeNumber(rawValue: 0xFFFF_FFFF)
