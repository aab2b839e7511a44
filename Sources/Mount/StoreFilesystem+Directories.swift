public import Fuse
import Stores
import Synchronization
import System
public import SystemPackage

extension StoreFilesystem {
    /// opendir(3).
    public func openDirectory(_ request: Request, _ inode: InodeNumber, flags: OpenFlags) throws(Errno)
        -> Opened
    {
        let node = try tree.node(inode)
        guard node.fileKind == .directory else { throw .notDirectory }
        return Opened(handle: handles.add(.directory([])))
    }

    /// readdir(3): a listing is taken at its beginning and holds until rewinddir(3).
    public func readDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        into buffer: inout DirectoryBuffer
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
        if node.kind == .root {
            for (name, _) in stores.withLock({ $0 }) {
                listing.append(
                    Handles.Listed(name: name, inode: tree.inode(of: name, in: node), kind: .directory))
            }
            return listing
        }
        guard let store = node.store, let path = tree.backingPath(of: node) else { return listing }
        var inMemory = tree.pinnedChildren(of: node).filter(\.node.isOnlyInMemory)
        let hasParked = !store.parked.isEmpty
        for entry in VisibleName.visible(
            try store.store.root.entries(of: path), in: path, keeping: store.kept.include)
        {
            if hasParked, try resolve(entry.name, in: path, of: store) == nil { continue }
            inMemory.removeAll { $0.name == entry.name }
            listing.append(
                Handles.Listed(
                    name: entry.name, inode: tree.inode(of: entry.name, in: node), kind: FileKind(entry.kind))
            )
        }
        for (name, node) in inMemory {
            listing.append(Handles.Listed(name: name, inode: node.inode, kind: node.fileKind))
        }
        return listing
    }

    /// closedir(3).
    public func releaseDirectory(_ inode: InodeNumber, handle: HandleNumber) {
        handles[handle] = nil
    }

    /// fsync(2) of a folder: every change of one is durable before it is acknowledged.
    public func synchronizeDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {
        // Every change of a folder is durable before it is acknowledged.
    }
}
