import Fuse
import OpenPGP
import Stores
import System
import SystemPackage

/// `history`, whose folders mirror the stores: a secret there is the folder of its versions, for which `PastDirectory` answers.
extension ControlDirectory {
    /// The folder of the versions of a secret.
    func versions(
        of secret: Node, in store: MountedStore, _ name: Name, _ folder: Node
    ) throws(Errno) -> Entry {
        guard let past, let path = tree.visiblePath(of: secret), let backing = tree.backingPath(of: secret)
        else { throw .noSuchFileOrDirectory }
        return past.entry(name, .versions(store, path: path, backing: backing), in: folder)
    }

    /// A secret that is no more has versions all the same: whether there are any is looked for.
    func lookupLater(
        _ name: Name, in folder: Node, for caller: Caller
    ) throws(Errno) -> PendingReply<Entry>? {
        guard let past, folder.kind == .directory,
            case .below(.history, let storeName, let path) = ControlPlace(try names(of: folder) + [name]),
            !path.isEmpty, name != Store.recipientFileName, !VisibleName.isHidden(name)
        else { return nil }
        let (store, parent, rest) = try walk(path.dropLast(), in: storeName)
        defer { tree.forget(parent.inode, count: 1) }
        guard parent.kind == .directory, rest.isEmpty, store.kind(of: name, in: parent) == nil,
            let shown = tree.visiblePath(of: parent), let backing = tree.backingPath(of: parent)
        else { return nil }
        let secret = backing.appending(name.appendingSuffix())
        let reply = PendingReply<Entry>()
        store.lookBack(for: caller) { past, cancellation throws(StoreError) in
            try past.versions(of: secret, in: store.store, cancellation: cancellation)
        } then: { result in
            do throws(Errno) {
                guard try !past.told(result, of: folder).isEmpty else { throw .noSuchFileOrDirectory }
                let item = PastItem.versions(store, path: shown.appending(name), backing: secret)
                reply.give(.success(past.entry(name, item, in: folder)))
            } catch {
                reply.give(.failure(error))
            }
        }
        return reply
    }
}
