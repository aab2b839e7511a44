import Glibc
import Settings
import System
public import SystemPackage

extension StoreAdministration {
    /// Everything that passdir ever made, for `passdir erase`: the files and folders, and how many credentials.
    public func everything() throws(LifecycleError) -> (paths: [FilePath], credentials: Int) {
        let folders = Directories(environment: environment)
        let places =
            [registry.configuration.file, folders.data, folders.state, folders.cache]
            + [folders.runtime].filter(Directories.isOurs)
        let count = (try? credentials.entries().count) ?? 0
        return (places.filter(\.exists), count)
    }

    /// The folders of stores that `eraseEverything` removes, or moves where they hold what exists nowhere else.
    private func clones() throws(LifecycleError) -> (stores: [StoreDefinition], others: [FilePath]) {
        let all = try LifecycleError.wrapping { try registry.definitions() }
        // An adopted store may lie in it, by hand.
        let others = PrivateFile.names(in: registry.cloneFolder).map { registry.cloneFolder.appending($0) }
            .filter { folder in !all.contains { Self.lies($0.path, in: folder) } }
        return (all.filter { $0.isCloned && $0.id != nil }, others)
    }

    private static func lies(_ path: FilePath, in folder: FilePath) -> Bool {
        ((try? path.resolvingLinks()) ?? path).starts(with: (try? folder.resolvingLinks()) ?? folder)
    }

    /// Refuses where an adopted store lies in a folder that goes as a whole.
    private func checkAdopted(_ places: [FilePath]) throws(LifecycleError) {
        try LifecycleError.wrapping {
            for store in try registry.definitions() where !store.isCloned {
                guard let place = places.first(where: { Self.lies(store.path, in: $0) }) else { continue }
                throw SettingsError(
                    code: .storeExists,
                    message:
                        "the store \"\(store.name)\" is in \(place), which erase removes: move it first")
            }
        }
    }

    /// What exists nowhere else of the stores that `eraseEverything` would remove, by the store's name or its folder.
    public func unsharedWorkOfAll() throws(LifecycleError) -> [(name: String, work: UnsharedWork)] {
        _ = try openJournal()
        let (stores, others) = try clones()
        var found: [(name: String, work: UnsharedWork)] = []
        for store in stores { found.append((store.name, unsharedWork(of: store))) }
        for folder in others { found.append((folder.string, UnsharedSearch.run(folder, bareLook))) }
        return found.filter { !$0.work.isEmpty }
    }

    /// Removes everything that passdir ever made; stores that it only adopted stay as they are, and so does what lies in
    /// passdir's folders and is none of its own. A cloned store with what exists nowhere else is moved. No daemon may run.
    /// - Parameter force: cloned stores are removed whatever is in them, and those that were moved before.
    /// - Returns: the folders that were moved.
    public func eraseEverything(force: Bool) throws(LifecycleError) -> [PutAway] {
        let data = Directories(environment: environment).data
        let whole = try everything().paths.filter { $0 != data }
        try checkAdopted(whole + (force ? [removedFolder.all] : []))
        let (stores, others) = try clones()
        var moved: [PutAway] = []
        for store in stores {
            if let away = try remove(store.name, purge: false, force: force), away.place != nil {
                moved.append(away)
            }
        }
        for folder in others {
            let work = force ? UnsharedWork() : UnsharedSearch.run(folder, bareLook)
            if work.isEmpty {
                try FolderRemoval.remove(folder)
            } else {
                let name = folder.lastComponent?.string ?? "store"
                let place = try removedFolder.take(folder, of: name)
                moved.append(PutAway(store: name, place: place, work: work))
            }
        }
        // The configuration first: without it nothing points to what is removed next.
        let places = try everything().paths
        try FolderRemoval.remove(registry.configuration.file)
        try LifecycleError.wrapping {
            for key in try credentials.entries().keys { try credentials.delete(key) }
        }
        for path in places {
            if path == data { try eraseData(data, force: force) } else { try FolderRemoval.remove(path) }
        }
        let folder = registry.configuration.file.removingLastComponent()
        _ = folder.withPlatformString { rmdir($0) }
        return moved
    }

    /// What lies where folders of removed stores are moved to; `eraseEverything` leaves it there without `force`.
    public var leftInRemoved: [FilePath] {
        PrivateFile.names(in: removedFolder.all).map { removedFolder.all.appending($0) }
    }

    /// What others keep there, an adopted store for example, stays.
    private func eraseData(_ data: FilePath, force: Bool) throws(LifecycleError) {
        let ours = Catalogue.persisted.filter { $0.place == .data }
        for name in PrivateFile.names(in: data) {
            let path = data.appending(name)
            if path == registry.cloneFolder || (path == removedFolder.all && !force) {
                _ = path.withPlatformString { rmdir($0) }
            } else if ours.contains(where: { $0.matches(name) }) {
                try FolderRemoval.remove(path)
            }
        }
        // Only when nothing stays in it.
        _ = data.withPlatformString { rmdir($0) }
    }
}
