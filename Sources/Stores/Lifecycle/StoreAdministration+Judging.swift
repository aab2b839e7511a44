import Git
import Glibc
import OpenPGP
import Settings
import System
import SystemPackage

extension StoreAdministration {
    /// What of a store's folder exists nowhere else, as far as it would go with the store; what waits in the daemon is
    /// committed and pushed first. Asks the remotes.
    /// - Parameter purge: as for `remove`.
    public func unsharedWork(ofStore name: String, purge: Bool) throws(LifecycleError) -> UnsharedWork {
        let store = try answering(name)
        daemon?.saveAndPush(store: store.name)
        guard store.isCloned || purge else { return UnsharedWork() }
        return unsharedWork(of: store)
    }

    func unsharedWork(of store: StoreDefinition) -> UnsharedWork {
        var operation = StoreOperation(
            kind: .remove, id: store.id ?? "path", name: store.name, folder: store.path)
        noteLogin(of: store, in: &operation)
        return UnsharedSearch.run(store.path, look(operation, mayAsk: true))
    }

    /// Where folders are moved to.
    var removedFolder: RemovedFolder { RemovedFolder(environment: environment) }

    /// Asks without a login.
    var bareLook: RemoteLook { RemoteLook(transferLimit: transferLimit, doomed: doomed(by: nil)) }

    /// Notes how the store's server is told who we are: when it is asked, the configuration may know no more.
    func noteLogin(of store: StoreDefinition, in operation: inout StoreOperation) {
        operation.method = store.authentication
        operation.userName = store.userName ?? ""
        operation.sshKey = store.sshKey?.string ?? ""
        operation.host = (store.url ?? remoteURL(of: store)).flatMap { RemoteURL($0) }?.host ?? ""
    }

    private var transferLimit: Int {
        (try? registry.configuration.value(Catalogue.transferLimit)) ?? 1 << 30
    }

    /// - Parameter mayAsk: whether the user may be asked to unlock credentials.
    private func look(_ operation: StoreOperation, mayAsk: Bool) -> RemoteLook {
        var look = RemoteLook(
            method: operation.method, userName: operation.userName.isEmpty ? nil : operation.userName,
            sshKey: operation.sshKey.isEmpty ? nil : FilePath(operation.sshKey),
            host: operation.host, transferLimit: transferLimit, doomed: doomed(by: operation))
        guard mayAsk, !operation.host.isEmpty else { return look }
        for kind in CredentialKind.allCases {
            look.secrets[kind] = (try? credentials.load(storeID: operation.id, kind: kind)).flatMap { $0 }
        }
        return look
    }

    /// What was moved away is kept for the user to look at, not for ever.
    private func doomed(by operation: StoreOperation?) -> [FilePath] {
        [operation?.folder, operation?.oldFolder, removedFolder.all].compactMap { $0 }
            .map { (try? $0.resolvingLinks()) ?? $0 }
    }

    /// Looks whether the old folder, which is aside by now, holds what exists nowhere else, and moves it then. When it
    /// holds nothing, that is noted: what is half removed would look as if it did.
    func judge(
        _ operation: inout StoreOperation, _ journal: borrowing OperationJournal, clone: FilePath?,
        mayAsk: Bool
    ) throws(LifecycleError) -> PutAway? {
        let old = operation.oldFolder
        guard operation.phase != .judged, isThere(old) else { return nil }
        if !operation.isForced {
            let work = UnsharedSearch.run(old, look(operation, mayAsk: mayAsk), clone: clone)
            if !work.isEmpty {
                let place = try removedFolder.take(old, of: operation.name)
                return PutAway(store: operation.name, place: place, work: work)
            }
        }
        operation.phase = .judged
        try journal.write(operation)
        return nil
    }

    /// What lies where the old folder is to wait was left by nobody knows whom.
    func putAwayLeft(_ operation: StoreOperation) throws(LifecycleError) {
        guard isThere(operation.oldFolder) else { return }
        _ = try removedFolder.take(operation.oldFolder, of: operation.name)
    }

    /// Refuses while secrets of a store are in the daemon's memory only: there is nothing to move.
    func checkSaved(_ store: StoreDefinition) throws(LifecycleError) {
        guard let unsaved = Self.list(daemon?.unsaved(store: store.name), of: store) else { return }
        throw LifecycleError(
            .unpushed,
            "\(unsaved.names) could not be saved and \(unsaved.are) in memory only: "
                + "passdir status says why; --force discards what was written")
    }

    /// Refuses while a program may still write to a secret of the store: what it writes would find no folder, or another
    /// store's.
    private func checkIsUnused(_ store: StoreDefinition) throws(LifecycleError) {
        guard let open = Self.list(daemon?.openForWriting(store: store.name), of: store) else { return }
        throw LifecycleError(
            .unpushed,
            "\(open.names) \(open.are) open in a program that may still write there: close it first, or pass --force"
        )
    }

    /// The first of some secrets, and how many there are besides; nil where there is none.
    private static func list(
        _ paths: [String]?, of store: StoreDefinition
    ) -> (names: String, are: String)? {
        guard let paths, let first = paths.first else { return nil }
        let more = paths.count > 1 ? " and \(paths.count - 1) more" : ""
        return (VisibleText.line("\(store.name)/\(first)") + more, paths.count > 1 ? "are" : "is")
    }

    /// Refuses when a folder could neither be removed nor moved.
    func checkCanBePutAway(_ store: StoreDefinition) throws(LifecycleError) {
        try checkSaved(store)
        try checkIsUnused(store)
        guard isThere(store.path), let objection = removedFolder.objection(to: store.path),
            let first = unsharedWork(of: store).items.first
        else { return }
        throw LifecycleError(
            .unpushed,
            "\(store.path) holds data that exists nowhere else (\(first)) and \(objection), so it cannot be "
                + "moved there: move it yourself, or delete it with --force")
    }
}
