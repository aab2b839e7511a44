import Dispatch
public import Stores
import Synchronization
import SystemPackage

/// What a person may want to know, and do, about what the mount holds that is not on disk; by the names of stores.
extension StoreFilesystem {
    private func stores(named name: String) -> [MountedStore] {
        top.allStores.filter { $0.store.name == name }
    }

    /// The secrets whose save failed.
    public var unsaved: [UnsavedSecret] {
        top.allStores.flatMap(\.unsaved).sorted { ($0.store, $0.path) < ($1.store, $1.path) }
    }

    /// Secrets of a store that a program is writing: what it wrote is not saved before it closes or syncs the file.
    public func beingWritten(ofStore name: String) -> [String] {
        stores(named: name).flatMap(\.beingWritten).sorted()
    }

    /// Secrets of a store that a program has open and may still write to.
    public func openForWriting(ofStore name: String) -> [String] {
        let paths = handles.files.compactMap { file -> String? in
            guard let secret = file as? OpenSecret, secret.isWritable, secret.store.store.name == name,
                !secret.store.isScratch(secret.node)
            else { return nil }
            return tree.visiblePath(of: secret.node)?.string
        }
        return Set(paths).sorted()
    }

    /// The sentences of the secrets of a store that could not be opened, the latest first, without those whose causes are gone,
    /// and those of which a save has failed since: `unsaved` tells why.
    public func failedOpens(ofStore name: String) -> [String] {
        guard let store = top.stores.first(where: { $0.store.name == name }) else { return [] }
        let unsaved = Set(store.unsaved.map(\.path))
        return store.standingFailures.filter { !unsaved.contains($0.path.string) }
            .map { "\($0.path.string): \($0.message)" }
    }

    /// Whether a save of a secret of a store has failed, so that it is in memory only.
    public func hasFailedSaves(of store: Store) -> Bool {
        top.allStores.contains { $0.store === store && !$0.failedNodes.isEmpty }
    }

    /// Tries again what failed, of one store or of all; returns how many secrets are saved now that were not before.
    @discardableResult
    public func retryFailedSaves(of store: Store? = nil) -> Int {
        top.allStores.filter { store == nil || $0.store === store }.map { $0.saveAll($0.failedNodes) }.reduce(
            0, +)
    }

    /// Saves everything that is newer than the disk; what fails stays listed in `unsaved`.
    @discardableResult
    public func saveEverything() -> Int {
        top.allStores.map { $0.saveEverything() }.reduce(0, +)
    }

    /// Saves what is edited of one store; what fails stays listed in `unsaved`.
    public func saveEverything(of store: Store) {
        for mounted in top.allStores where mounted.store === store { mounted.saveEverything() }
    }

    /// Forgets what was decrypted and is only kept, and all pages that the kernel has of secrets: whoever reads on asks again.
    /// Returns when that is done.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    public func forgetContents() {
        mount.kept.forgetAll { _ in true }
        control.past?.contents.forgetKept { _ in true }
        let kernel = mount.kernel.withLock { $0 }
        for case let secret as OpenSecret in handles.files {
            secret.file.state.withLock { $0.forgetPages() }
            kernel?.invalidateInode(secret.node.inode, offset: 0, length: 0)
        }
        // What was kept is told on this queue.
        mount.background.sync {}
    }

    /// Gives up the texts of a store that could not be saved: each file is again what lies on disk, or is gone where nothing
    /// does.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    /// - Parameter path: of one of them, as the mount shows it; nil gives up all.
    /// - Returns: those that were given up, as the mount shows them. One that a program has open is not among them, unless all
    ///   are given up.
    public func discardUnsaved(ofStore name: String, _ path: String?) -> [String] {
        stores(named: name).flatMap { $0.discardUnsaved(path) }.sorted()
    }
}
