import Fuse
import Stores
import System
import SystemPackage

/// What no other machine would take from a branch is not made: a commit that held it would be refused everywhere.
extension MountedStore {
    /// Refuses to make something: EPERM for its name, ENAMETOOLONG for its path.
    func checkPlace(_ path: FilePath, of kind: EntryKind) throws(Errno) {
        // What no file can be made in, git cannot look into either.
        if Store.isTooLong(kind == .directory ? path.appending("s") : path) { throw .fileNameTooLong }
        guard let name = path.lastComponent else { return }
        if name.byteCount > 255 { throw .fileNameTooLong }
        if Store.isRefused(name, of: kind) { throw .notPermitted }
    }

    /// As `checkPlace(_:of:)`, with the length of all that lies in a folder.
    /// - Parameter isNew: nothing has the name yet. What others gave to a file can be replaced.
    func checkPlace(
        of node: Node, from source: FilePath, to destination: FilePath, isNew: Bool
    ) throws(Errno) {
        switch node.kind {
        case .root, .plain, .memoryLink: return
        case .secret: if isNew { try checkPlace(destination, of: .regular) }
        case .symbolicLink: if isNew { try checkPlace(destination, of: .symbolicLink) }
        case .directory:
            try checkPlace(destination, of: .directory)
            guard
                destination.string.utf8.count > source.string.utf8.count
                    || destination.components.count > source.components.count
            else { return }
            if try root.isTooLong(below: source, as: destination) { throw .fileNameTooLong }
        }
    }

    /// Whether a secret in a folder will have a name on disk that is not saved yet, so that nothing may take it.
    func isClaimed(_ name: Name, in folder: FolderPlace) -> Bool {
        guard let visible = name.strippingSuffix(), let secret = tree.child(visible, of: folder.node) else {
            return false
        }
        return secret.isOnlyInMemory && tree.backingName(of: secret) == name
    }

    /// The name on disk for a secret that is to be made.
    func newBackingName(_ name: Name, in directory: FilePath) throws(Errno) -> Name {
        guard !VisibleName.isHidden(name), name != Store.signatureFileName else { throw .notPermitted }
        if name == Store.recipientFileName {
            guard changeRecipients != nil else { throw .notPermitted }
            try checkPlace(directory.appending(name), of: .regular)
            return name
        }
        let backing = name.appendingSuffix()
        guard backing.byteCount <= 255 else { throw .fileNameTooLong }
        // A folder `x.gpg` leaves no place for a secret `x`.
        let path = directory.appending(backing)
        if let status = try root.statusIfPresent(of: path) {
            guard status.kind == .regular, parked.status(at: path) != nil else { throw .fileExists }
        } else {
            try checkPlace(path, of: .regular)
        }
        kept.remove(path)
        return backing
    }
}
