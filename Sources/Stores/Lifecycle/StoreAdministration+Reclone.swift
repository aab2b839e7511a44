public import Git
import Glibc
import OpenPGP
import Settings
import System
import SystemPackage

extension StoreAdministration {
    /// What is cloned again: a URL or branch that is not given is the store's own.
    /// - Returns: the wish, and whether it is for another server than before, so that credentials are to be asked for
    ///   anew.
    public func recloneWish(
        _ name: String, url: String?, branch: String?
    ) throws(LifecycleError) -> (wish: CloneWish, isOtherHost: Bool) {
        let store = try answering(name)
        let old = store.url ?? remoteURL(of: store)
        guard let text = url ?? old else {
            throw LifecycleError(.settings, "the store \"\(store.name)\" has no remote: name one with --url")
        }
        guard let wanted = RemoteURL(text) else {
            throw LifecycleError(
                .settings, "\"\(GitError.cleanedURL(text))\" is not a URL that git can clone")
        }
        let isOtherHost = old.flatMap { RemoteURL($0) }?.host != wanted.host
        let wish = try CloneWish(
            name: store.name, url: wanted, branch: branch ?? (url == nil ? store.branch : nil),
            method: isOtherHost ? nil : store.authentication,
            userName: wanted.userName ?? (isOtherHost ? nil : store.userName),
            sshKey: store.sshKey)
        return (wish, isOtherHost)
    }

    /// Replaces a store's folder by a new clone, under the same id. The old folder goes only when the new clone is
    /// there; when anything fails before, everything is as it was. What of it exists nowhere else then is not removed: the
    /// folder is moved.
    /// - Parameter force: the old folder is removed whatever is in it.
    public func reclone(
        _ wish: CloneWish, isOtherHost: Bool, force: Bool, progress: (TransferProgress) -> Bool
    ) throws(LifecycleError) -> (report: CloneReport, old: PutAway?) {
        let store = try answering(wish.name)
        let journal = try openJournal()
        guard let id = store.id else {
            throw LifecycleError(
                .settings, "the store \"\(store.name)\" has no id yet: passdir mount gives it one")
        }
        try checkPlace(store)
        try checkIsWholeRepository(store)
        daemon?.saveAndPush(store: store.name)
        if !force { try checkCanBePutAway(store) }
        var operation = StoreOperation(kind: .reclone, id: id, name: store.name, folder: store.path)
        noteLogin(of: store, in: &operation)
        operation.isForced = force
        operation.url = wish.url.text
        operation.branch = wish.branch ?? ""
        operation.forgetsCredential = isOtherHost
        operation.newKinds = Array(wish.secrets.keys)
        try putAwayLeft(operation)
        try journal.write(operation)
        let report: CloneReport
        do throws(LifecycleError) {
            report = try prepareReclone(wish, store, operation, progress)
            operation.phase = .decided
            try journal.write(operation)
        } catch {
            operation.phase = .preparing
            _ = try finishReclone(operation, journal, mayAsk: true)
            journal.remove(operation)
            throw error
        }
        try FaultPoint.reach("reclone.decided")
        let old = try finishReclone(operation, journal, mayAsk: true)
        journal.remove(operation)
        return (report, old)
    }

    private func prepareReclone(
        _ wish: CloneWish, _ store: StoreDefinition, _ operation: StoreOperation,
        _ progress: (TransferProgress) -> Bool
    ) throws(LifecycleError) -> CloneReport {
        try FaultPoint.reach("reclone.journal")
        var full = wish
        if !operation.forgetsCredential {
            for kind in CredentialKind.allCases where full.secrets[kind] == nil {
                full.secrets[kind] = (try? credentials.load(storeID: operation.id, kind: kind)).flatMap { $0 }
            }
        }
        try clone(full, into: operation.newFolder, progress)
        try FaultPoint.reach("reclone.cloned")
        let (count, warnings) = inspect(operation.newFolder, name: store.name, keyring: store.keyring)
        try keep(wish.secrets, for: operation.newID)
        // What was saved while it was cloned.
        daemon?.saveAndPush(store: store.name)
        return CloneReport(id: operation.id, secrets: count, warnings: warnings)
    }

    /// Before the decision: takes the new clone back. After it: puts it in place, whatever part of that is done.
    func finishReclone(
        _ operation: StoreOperation, _ journal: borrowing OperationJournal, mayAsk: Bool
    ) throws(LifecycleError) -> PutAway? {
        let (new, old, folder) = (operation.newFolder, operation.oldFolder, operation.folder)
        guard operation.phase != .preparing else {
            try FolderRemoval.remove(new)
            try LifecycleError.wrapping { try credentials.deleteAll(ofStore: operation.newID) }
            return nil
        }
        if isThere(new) {
            if isThere(folder) {
                try putAwayLeft(operation)
                try move(folder, to: old)
            }
            try FaultPoint.reach("reclone.aside")
            try move(new, to: folder)
        }
        try FaultPoint.reach("reclone.placed")
        if operation.isForced { daemon?.discardUnsaved(store: operation.name) }
        // What is open of the old folder is saved there and let go; under its new name nobody else finds it.
        daemon?.reopen(store: operation.id)
        var operation = operation
        let away = try judge(&operation, journal, clone: folder, mayAsk: mayAsk)
        try FaultPoint.reach("reclone.judged")
        try moveCredentials(operation)
        try FaultPoint.reach("reclone.credential")
        if let section = try section(withID: operation.id) {
            try LifecycleError.wrapping {
                try registry.configuration.setStore(
                    name: section.name,
                    values: [
                        ("url", operation.url), ("branch", operation.branch.isEmpty ? nil : operation.branch),
                    ])
            }
        }
        try FaultPoint.reach("reclone.configured")
        daemon?.reopen(store: operation.id)
        forgetLearned(operation.id)
        try FolderRemoval.remove(old)
        return away
    }

    private func moveCredentials(_ operation: StoreOperation) throws(LifecycleError) {
        try LifecycleError.wrapping {
            let kept = try credentials.entries()
            for kind in CredentialKind.allCases
            where operation.forgetsCredential && !operation.newKinds.contains(kind) {
                try credentials.delete(CredentialKey(store: operation.id, kind: kind))
            }
            for kind in CredentialKind.allCases {
                let key = CredentialKey(store: operation.newID, kind: kind)
                guard let facts = kept[key], let secret = try credentials.load(key) else { continue }
                try credentials.save(
                    secret, as: CredentialKey(store: operation.id, kind: kind), expires: facts.expires)
                try credentials.delete(key)
            }
        }
    }

    func isThere(_ path: FilePath) -> Bool { path.facts() != nil }

    func move(_ from: FilePath, to: FilePath) throws(LifecycleError) {
        try rethrowing(from.rename(to: to)) { (error: Errno) in
            LifecycleError(.failed, "cannot move \(from): \(error)")
        }
        OwnedDescriptor.synchronize(folder: to.removingLastComponent())
    }

    /// Refuses to put away a folder in which more lies than a store.
    func checkPlace(_ store: StoreDefinition) throws(LifecycleError) {
        guard let objection = StorePlace.objection(toLinked: store.path, environment: environment) else {
            return
        }
        throw LifecycleError(.settings, "\(store.path) \(objection)")
    }

    func configured(_ name: String) throws(LifecycleError) -> StoreDefinition {
        try LifecycleError.wrapping { try registry.configured(name) }
    }

    /// The store of a name, before anything is done to it that may wait for its disk.
    func answering(_ name: String) throws(LifecycleError) -> StoreDefinition {
        let store = try configured(name)
        guard DiskLook.at(store.path).answers else {
            let hiding =
                store.isInMount
                ? ", or hide it meanwhile: passdir store hide \(ShellWord.quoted(store.name))" : ""
            throw LifecycleError(.failed, store.silentDisk + hiding)
        }
        return store
    }

    func remoteURL(of store: StoreDefinition) -> String? {
        guard let repository = (try? Repository.open(workingTree: store.path)) ?? nil,
            let remote = (try? repository.onlyRemote()).flatMap({ $0 })
        else { return nil }
        return repository.url(ofRemote: remote)
    }

    private func checkIsWholeRepository(_ store: StoreDefinition) throws(LifecycleError) {
        guard let place = try? Registry.resolved(store.path), !isThere(place.appending(".git")),
            let top = StoreRepositories.outer(around: place)
        else { return }
        throw LifecycleError(
            .settings,
            "the store \"\(store.name)\" is only part of the repository in \(top): clone that as a store of its own"
        )
    }
}

extension StoreOperation {
    /// Under what the new credentials of a `reclone` wait for the decision.
    var newID: String { "\(id)-new" }
}
