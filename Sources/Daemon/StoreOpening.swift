import Glibc
import Logging
import Mount
import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// Makes stores of their definitions, for a mount; opens none of them.
final class StoreOpening: Sendable {
    let opener: StoreOpener
    private let learned: LearnedState?
    private let credentials: any CredentialStore
    private let log: Logger
    private let branches = BranchWatch()

    init(
        _ opener: StoreOpener, learned: LearnedState?, credentials: any CredentialStore, log: Logger
    ) {
        self.opener = opener
        self.learned = learned
        self.credentials = credentials
        self.log = log
    }

    /// Has a store work by other settings.
    func change(_ served: ServedStore, to settings: StoreSettings) throws(OpenPGPError) {
        let engine = try opener.preparedEngine(settings.definition.keyring)
        let options = Store.Options(settings, environment: opener.environment)
        served.use(settings, engine, options, Committer.Options(settings, credentials: credentials))
    }

    /// A store that can be shown, or one that says why not.
    func make(_ settings: StoreSettings, mountPoint: FilePath) -> ServedStore {
        let definition = settings.definition
        let path: FilePath
        do throws(Errno) {
            path = try resolved(definition.path)
        } catch {
            return ServedStore(
                settings, path: definition.path, failure: definition.sentence(forUnopened: error))
        }
        if let objection = StorePlace.objection(to: path, environment: opener.environment) {
            return failed(settings, "it \(objection)")
        }
        if path.starts(with: mountPoint) || mountPoint.starts(with: path) {
            return failed(settings, "it and the mount point \(mountPoint) overlap")
        }
        let firstUse = FirstUse()
        let environment = opener.environment
        let needsList = Store.Options(settings, environment: environment).recipientOverride == nil
        let root = Root(lazily: path, named: definition.path) { folder in
            Self.objection(toReplacement: folder, needsList: needsList, environment)
        } whenOpened: {
            firstUse.use()
        }
        let store: Store
        do throws(OpenPGPError) {
            _ = try opener.preparedEngine(settings.definition.keyring)
            store = opener.store(settings, in: root, learned: learned)
        } catch {
            return failed(settings, error.message)
        }
        var committing = Committer.Options(settings, credentials: credentials)
        committing.packs = true
        committing.branchFolders = { [branches] folders in
            branches.follow(folders) { firstUse.branchMayHaveMoved(isStash: $0) }
        }
        let committer = Committer(store: store, options: committing, log: log)
        let served = ServedStore(settings, path: path, store: store, committer: committer)
        firstUse.set(served)
        return served
    }

    /// Why a folder that has taken the place of a store's while it is mounted is not to be used, or not yet: a clone is
    /// there before its files are.
    private static func objection(
        toReplacement folder: FilePath, needsList: Bool, _ environment: [String: String]
    ) -> String? {
        if let objection = StorePlace.objection(to: folder, environment: environment) { return objection }
        if needsList, folder.appending(Store.recipientFileName).facts()?.kind != .regular {
            return "has no .gpg-id at its top level"
        }
        let lock = folder.appending(".git").appending("index.lock")
        if let facts = lock.facts(), time(nil) - facts.st_mtim.tv_sec < 60 {
            return "is being checked out by git"
        }
        return nil
    }

    private func failed(_ settings: StoreSettings, _ reason: String) -> ServedStore {
        let definition = settings.definition
        return ServedStore(
            settings, path: definition.path,
            failure: "the store \"\(definition.name)\" in \(definition.path) cannot be opened: \(reason)")
    }

    /// The folder without links on the way.
    private func resolved(_ path: FilePath) throws(Errno) -> FilePath {
        let resolved = try path.resolvingLinks()
        guard let facts = resolved.targetFacts() else { throw .last }
        guard facts.kind == .directory else { throw .notDirectory }
        return resolved
    }
}

/// What happens when a store is used for the first time. The store is known after its folder, so it comes later.
private final class FirstUse: Sendable {
    private let served = Mutex<Weak>(Weak())

    private struct Weak: Sendable {
        weak var store: ServedStore?
    }

    func set(_ store: ServedStore) { served.withLock { $0.store = store } }

    func use() {
        guard let store = served.withLock({ $0.store }) else { return }
        try? store.store?.removeLeftTemporaries()
        store.start()
    }

    func branchMayHaveMoved(isStash: Bool) {
        guard let committer = served.withLock({ $0.store })?.committer else { return }
        ActorCall { await committer.branchMayHaveMoved(isStash: isStash) }
    }
}
