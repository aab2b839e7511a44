import Git
import Glibc
import Settings
public import SystemPackage

extension StoreAdministration {
    /// Whether `remove` would remove a folder, and which.
    public func folderToRemove(_ name: String, purge: Bool) throws(LifecycleError) -> FilePath? {
        let store = try configured(name)
        return store.isCloned || purge ? store.path : nil
    }

    /// Removes a store: its section of the configuration, its credentials, what was learned of it, and its folder when
    /// we cloned it or `purge` says so. What other stores share stays.
    /// - Parameter force: the folder goes although there are commits or changes that no remote has.
    /// - Throws: `.unpushed` without `force`; nothing is changed then.
    public func remove(_ name: String, purge: Bool, force: Bool) throws(LifecycleError) {
        let journal = try openJournal()
        let store = try configured(name)
        let removesFolder = store.isCloned || purge
        if removesFolder { try checkPlace(store) }
        if removesFolder, !force {
            try checkPushed(store)
        } else {
            daemon?.settle(store: store.name)
        }
        var operation = StoreOperation(
            kind: .remove, phase: .decided, id: store.id ?? "path", name: store.name, folder: store.path)
        operation.removesFolder = removesFolder
        operation.isForced = force
        if store.id == nil {
            // Written by hand and never mounted: there is nothing but the section.
            do throws(SettingsError) {
                try registry.configuration.removeStore(name: store.name)
            } catch {
                throw LifecycleError(error)
            }
            daemon?.reload()
            return
        }
        try journal.write(operation)
        try FaultPoint.reach("remove.decided")
        let kept = try finishRemove(operation)
        journal.remove(operation)
        if let kept { throw LifecycleError(.unpushed, kept) }
    }

    /// Returns why the folder stays, when something was saved in it after it was looked at.
    func finishRemove(_ operation: StoreOperation) throws(LifecycleError) -> String? {
        try removeSection(operation.id)
        try FaultPoint.reach("remove.configured")
        // What is open of it is saved and let go before anything else goes.
        daemon?.reload()
        do throws(CredentialError) {
            try credentials.deleteAll(ofStore: operation.id)
        } catch  where error.code != .unavailable {
            throw LifecycleError(error)
        } catch {}
        try FaultPoint.reach("remove.credential")
        forgetLearned(operation.id)
        forgetAgreement(operation.id)
        try FaultPoint.reach("remove.learned")
        guard operation.removesFolder else { return nil }
        if isThere(operation.folder) {
            if !operation.isForced, let reason = try whatWouldBeLost(in: operation.folder) {
                return
                    "the store \"\(operation.name)\" is removed, but its folder \(operation.folder) stays: "
                    + "it has \(reason)"
            }
            // Under another name it is judged no more: half removed, it would look like one with changes.
            try FolderRemoval.remove(operation.oldFolder)
            try move(operation.folder, to: operation.oldFolder)
        }
        try FaultPoint.reach("remove.aside")
        try FolderRemoval.remove(operation.oldFolder)
        try FaultPoint.reach("remove.folder")
        return nil
    }

    /// Everything that passdir ever made, for `passdir erase`: the files and folders, and how many credentials.
    public func everything() throws(LifecycleError) -> (paths: [FilePath], credentials: Int) {
        let places =
            [
                registry.configuration.file, Directories.dataFolder(environment: environment),
                Directories.stateFolder(environment: environment),
                Directories.cacheFolder(environment: environment),
            ] + [(try? Directories(environment: environment))?.runtime].compactMap(\.self)
        let count = (try? credentials.entries().count) ?? 0
        return (places.filter { access($0.string, F_OK) == 0 }, count)
    }

    /// Removes everything that passdir ever made; stores that it only adopted stay as they are. No daemon may run.
    /// - Throws: `.unpushed` without `force` when a cloned store has what no remote has.
    public func eraseEverything(force: Bool) throws(LifecycleError) {
        do {
            let journal = try openJournal()
            if !force {
                for name in PrivateFile.names(in: registry.cloneFolder) where !name.hasPrefix(".") {
                    let folder = registry.cloneFolder.appending(name)
                    guard let reason = try whatWouldBeLost(in: folder) else { continue }
                    throw LifecycleError(
                        .unpushed, "the store in \(folder) has \(reason): push it, or use --force to lose it")
                }
            }
            _ = journal
        }
        let entries: [CredentialKey: CredentialFacts]
        do throws(CredentialError) {
            entries = try credentials.entries()
            for key in entries.keys { try credentials.delete(key) }
        } catch {
            throw LifecycleError(error)
        }
        // The configuration first: without it nothing points to what is removed next.
        for path in try everything().paths { try FolderRemoval.remove(path) }
        let folder = registry.configuration.file.removingLastComponent()
        _ = folder.withPlatformString { rmdir($0) }
    }
}
