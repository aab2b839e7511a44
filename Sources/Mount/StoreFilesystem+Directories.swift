public import Fuse
import Stores
public import SystemPackage

/// The operations on open folders; the rest of `Filesystem` is in `StoreFilesystem+Operations.swift`.
extension StoreFilesystem {
    /// opendir(3) of all but what is listed by a look into a secret.
    public func openDirectoryAtOnce(_ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened? {
        let (node, subtree) = try find(inode)
        guard node.fileKind == .directory else { throw .notDirectory }
        return subtree.listsAtOnce(node) ? Opened(handle: handles.add(.directory([]))) : nil
    }

    /// opendir(3) of what is listed by a look into a secret.
    public func openDirectory(
        _ inode: InodeNumber, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<Opened> {
        let (node, subtree) = try find(inode)
        return try subtree.listing(of: node, for: caller).map { listing in
            listing.map { Opened(handle: self.handles.add(.listing($0))) }
        }
    }

    /// readdir(3): a listing is taken at its beginning and holds until rewinddir(3).
    public func readDirectory(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, _ nextOffset: Int64) -> Bool
    ) throws(Errno) {
        var listing: [ListedEntry]
        switch handles[handle] {
        case .directory(let known): listing = known
        case .listing(let taken): listing = try ownNames(of: inode) + taken
        case .file, nil: throw .badFileDescriptor
        }
        if offset == 0, case .directory = handles[handle] {
            // From the beginning, first or again (rewinddir): a new look. Offsets into it hold until the next one.
            let (node, subtree) = try find(inode)
            listing = try ownNames(of: inode) + subtree.entries(of: node)
            handles[handle] = .directory(listing)
        }
        var index = Int(clamping: offset)
        while index >= 0, index < listing.count {
            guard add(listing[index], Int64(index + 1)) else { return }
            index += 1
        }
    }

    /// "." and "..".
    private func ownNames(of inode: InodeNumber) throws(Errno) -> [ListedEntry] {
        let node = try tree.node(inode)
        let parent = tree.parent(of: node) ?? node
        return [
            ListedEntry(name: Name("."), inode: node.inode, kind: .directory),
            ListedEntry(name: Name(".."), inode: parent.inode, kind: .directory),
        ]
    }

    /// As `readDirectory`, with what a look-up of each entry would tell: most who list a folder look at all that is in it.
    public func readDirectoryWithEntries(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, Entry?, _ nextOffset: Int64) -> Bool
    ) throws(Errno) {
        let (node, subtree) = try find(inode)
        let lookup = subtree.listedLookups(in: node)
        try readDirectory(inode, handle: handle, offset: offset) { listed, next in
            // `ownNames` are the first two.
            guard next > 2, let entry = lookup(listed.name) else { return add(listed, nil, next) }
            if add(listed, entry, next) { return true }
            forget(entry.inode, count: 1)
            return false
        }
    }

    /// closedir(3).
    public func releaseDirectory(_ inode: InodeNumber, handle: HandleNumber) {
        handles.remove(handle)
    }

    /// fsync(2) of a folder: every change of one is durable before it is acknowledged.
    public func synchronizeDirectory(
        _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {}
}
