import Fuse
import SystemPackage
import Stores

extension MountedStore {
    /// What a folder holds on disk and is not hidden or parked, and what of it is in memory only.
    func entries(of folder: Node) throws(Errno) -> [ListedEntry] {
        guard let path = tree.backingPath(of: folder) else { return [] }
        var inMemory = tree.pinnedChildren(of: folder).filter(\.node.isOnlyInMemory)
        let hasParked = !parked.isEmpty
        var listing: [ListedEntry] = []
        for entry in VisibleName.visible(
            try root.entries(of: path), keeping: { kept.include($0, in: path) })
        {
            if hasParked, try resolve(entry.name, in: path) == nil { continue }
            inMemory.removeAll { $0.name == entry.name }
            listing.append(
                ListedEntry(
                    name: entry.name, inode: tree.inode(of: entry.name, in: folder),
                    kind: FileKind(entry.kind)))
        }
        // Last, so that who removes a folder entry by entry finds nothing any more that would have to be re-encrypted.
        if let list = listing.firstIndex(where: { $0.name == Store.recipientFileName }) {
            listing.append(listing.remove(at: list))
        }
        return listing
            + inMemory.map { ListedEntry(name: $0.name, inode: $0.node.inode, kind: $0.node.fileKind) }
    }
}
