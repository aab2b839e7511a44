import Git
import Glibc
import Settings
import System
public import SystemPackage

extension StoreAdministration {
    /// Whether `remove` would remove a folder, and which.
    public func folderToRemove(_ name: String, purge: Bool) throws(LifecycleError) -> FilePath? {
        let store = try configured(name)
        return store.isCloned || purge ? store.path : nil
    }

    /// Removes a store: its section of the configuration, its credentials, what was learned of it, and its folder when
    /// we cloned it or `purge` says so. What other stores share stays. A folder with what exists nowhere else is moved.
    /// - Parameter force: the folder is removed whatever is in it.
    /// - Returns: what became of the folder; nil when it stays.
    /// - Throws: `.failed` where its disk does not answer, nothing is changed then; `.unpushed` without `force` where something can neither be removed nor moved; nothing is changed then.
    @discardableResult
    public func remove(_ name: String, purge: Bool, force: Bool) throws(LifecycleError) -> PutAway? {
        let store = try answering(name)
        let journal = try openJournal()
        let removesFolder = store.isCloned || purge
        if removesFolder { try checkPlace(store) }
        daemon?.saveAndPush(store: store.name)
        if !force { try checkSaved(store) }
        if removesFolder, !force { try checkCanBePutAway(store) }
        var operation = StoreOperation(
            kind: .remove, phase: .decided, id: store.id ?? "path", name: store.name, folder: store.path)
        operation.removesFolder = removesFolder
        operation.isForced = force
        noteLogin(of: store, in: &operation)
        if store.id == nil {
            // Written by hand and never mounted: there is nothing but the section.
            try LifecycleError.wrapping { try registry.configuration.removeStore(name: store.name) }
            daemon?.reload()
            return nil
        }
        try journal.write(operation)
        try FaultPoint.reach("remove.decided")
        let away = try finishRemove(operation, journal, mayAsk: true)
        journal.remove(operation)
        return away
    }

    /// Returns what became of the folder.
    func finishRemove(
        _ operation: StoreOperation, _ journal: borrowing OperationJournal, mayAsk: Bool
    ) throws(LifecycleError) -> PutAway? {
        try removeSection(operation.id)
        try FaultPoint.reach("remove.configured")
        if operation.isForced { daemon?.discardUnsaved(store: operation.name) }
        // What is open of it is saved and let go before anything else goes.
        daemon?.reload()
        var operation = operation
        var away: PutAway?
        if operation.removesFolder {
            if isThere(operation.folder) {
                try putAwayLeft(operation)
                // Under another name nobody finds it who would save something in it.
                try move(operation.folder, to: operation.oldFolder)
            }
            try FaultPoint.reach("remove.aside")
            // With the credentials, which the remote may want.
            away = try judge(&operation, journal, clone: nil, mayAsk: mayAsk)
            try FaultPoint.reach("remove.judged")
        }
        do throws(CredentialError) {
            try credentials.deleteAll(ofStore: operation.id)
        } catch  where error.code != .unavailable {
            throw LifecycleError(wrapping: error)
        } catch {}
        try FaultPoint.reach("remove.credential")
        forgetLearned(operation.id)
        forgetAgreement(operation.id, operation.folder)
        try FaultPoint.reach("remove.learned")
        guard operation.removesFolder else { return nil }
        try FolderRemoval.remove(operation.oldFolder)
        try FaultPoint.reach("remove.folder")
        return away ?? PutAway(store: operation.name)
    }
}
