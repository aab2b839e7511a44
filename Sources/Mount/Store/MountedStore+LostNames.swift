import Fuse
import Stores
import Synchronization
import SystemPackage

/// Secrets that others replaced or removed on disk while a program has them open: what it still writes is saved under the
/// name that it opened, as on a disk where the file is written in place.
extension MountedStore {
    /// Gives a secret that was edited since the name that it has lost, or one beside it where something else than another
    /// version of it has that now. A version that others have put there gets the name beside it when this one is saved
    /// (`keepForeignVersion`).
    /// - Returns: false where it lost its name through the mount, or its folder is gone, too: what is written to it is for
    ///   nobody.
    /// - Throws: `ESTALE` for a list of recipients. Whoever edited it has not seen what others made of it.
    func takeNameBack(_ node: Node, _ file: SecretFile) throws(StoreError) -> Bool {
        try namespace.withLock { _ throws(StoreError) in
            if tree.backingPath(of: node) != nil { return true }
            guard let place = tree.lostPlace(of: node), let name = Name(bytes: place.name),
                let folder = tree.backingPath(of: place.parent)
            else { return false }
            let backing = place.backing == .suffixed ? name.appendingSuffix() : name
            let path = folder.appending(backing)
            if Store.isRecipientFile(path) {
                file.state.withLock { $0.abandonEdits() }
                throw StoreError(
                    .system(.staleNFSFileHandle),
                    "\(path) was replaced by another program while it was open: open it again.")
            }
            let other = tree.child(name, of: place.parent)
            // Where that cannot be told, the save that follows says why.
            let found = (try? resolve(name, in: folder)) ?? nil
            let isFree = found.map { $0.kind == .secret && $0.name == backing } ?? true
            if isFree, other.map({ $0.kind != .directory && !$0.isOnlyInMemory }) ?? true {
                if let other { tree.lose(other) }
                tree.move(node, to: place.parent, name: name, backing: backing)
            } else {
                let beside = try StoreError.wrapping("keep another version of", path) {
                    try freeConflictPath(beside: path)
                }
                guard let backing = beside.lastComponent else { return false }
                tree.move(
                    node, to: place.parent, name: backing.strippingSuffix() ?? backing, backing: backing)
            }
            return true
        }
    }
}
