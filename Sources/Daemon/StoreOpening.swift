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
    private let configuration: Configuration
    let environment: [String: String]
    private let learned: LearnedState?
    private let credentials: any CredentialStore
    private let log: Logger
    private let branches = BranchWatch()
    /// One for each keyring; nil is that of GNUPGHOME.
    private let engines = Mutex<[FilePath?: GnuPG]>([:])

    init(
        configuration: Configuration, environment: [String: String], learned: LearnedState?,
        credentials: any CredentialStore, log: Logger
    ) {
        self.configuration = configuration
        self.environment = environment
        self.learned = learned
        self.credentials = credentials
        self.log = log
    }

    /// By what a store of this definition would work.
    func fixed(_ definition: StoreDefinition) throws(SettingsError) -> ServedStore.Fixed {
        ServedStore.Fixed(
            path: definition.path, keyring: definition.keyring,
            others: [
                definition.url, definition.branch, definition.authentication?.rawValue, definition.userName,
                definition.sshKey?.string, definition.key,
                try configuration.value(Catalogue.syncTransport, store: definition.name).rawValue,
                try configuration.value(Catalogue.syncIntegration, store: definition.name).rawValue,
                "\(try configuration.value(Catalogue.syncInterval, store: definition.name))",
                "\(try configuration.value(Catalogue.commitEach, store: definition.name))",
                "\(try configuration.value(Catalogue.commitDelay, store: definition.name))",
                "\(try configuration.value(Catalogue.pushTimeout))",
                "\(try configuration.value(Catalogue.promptTimeout))",
                try configuration.value(Catalogue.storeSigningKeys, store: definition.name),
                try configuration.value(Catalogue.recipientTrust, store: definition.name).rawValue,
                try configuration.value(Catalogue.recipientConfirm, store: definition.name).map(String.init),
            ])
    }

    /// By what a store works.
    struct Settings {
        var fixed: ServedStore.Fixed
        var options: Store.Options
        var engine: any Engine
        var committing: Committer.Options
    }

    /// What the configuration has for a store; a failure where its keyring cannot be used.
    func settings(
        of definition: StoreDefinition, _ fixed: ServedStore.Fixed
    ) throws(DaemonError) -> Result<Settings, OpenPGPError> {
        let encryption: EncryptionWay
        let options: Store.Options
        let committing: Committer.Options
        do {
            committing = try CommitterSettings.options(
                configuration, of: definition, credentials: credentials)
            options = try Store.Options(configuration, store: definition.name, environment: environment)
            encryption = try EncryptionWay(configuration)
        } catch {
            throw DaemonError(error)
        }
        do {
            let engine = try engine(definition.keyring, encryption)
            return .success(
                Settings(fixed: fixed, options: options, engine: engine, committing: committing))
        } catch {
            return .failure(error)
        }
    }

    /// A store that can be shown, or one that says why not.
    func make(
        _ definition: StoreDefinition, _ fixed: ServedStore.Fixed, mountPoint: FilePath
    ) throws(DaemonError) -> ServedStore {
        let settings = try settings(of: definition, fixed)
        let path: FilePath
        do throws(Errno) {
            path = try resolved(definition.path)
        } catch {
            return failed(definition, fixed, "\(error)")
        }
        if let objection = StorePlace.objection(to: path, environment: environment) {
            return failed(definition, fixed, "it \(objection)")
        }
        if path.starts(with: mountPoint) || mountPoint.starts(with: path) {
            return failed(definition, fixed, "it and the mount point \(mountPoint) lie in one another")
        }
        switch settings {
        case .success(let settings): return open(definition, in: path, settings)
        case .failure(let error): return failed(definition, fixed, error.message)
        }
    }

    private func open(_ definition: StoreDefinition, in path: FilePath, _ settings: Settings) -> ServedStore {
        let firstUse = FirstUse()
        let environment = environment
        let needsList = settings.options.recipientOverride == nil
        let root = Root(lazily: path, named: definition.path) { folder in
            Self.objection(toReplacement: folder, needsList: needsList, environment)
        } whenOpened: {
            firstUse.use()
        }
        let store = Store(
            name: definition.name, identifier: definition.identifier, root: root, engine: settings.engine,
            options: settings.options, learned: learned)
        var committing = settings.committing
        committing.branchFolders = { [branches] folders in
            branches.follow(folders) { firstUse.branchMayHaveMoved() }
        }
        let committer = Committer(store: store, options: committing, log: log)
        let served = ServedStore(
            definition, fixed: settings.fixed, path: path, store: store, committer: committer)
        firstUse.set(served)
        return served
    }

    /// Why a folder that has taken the place of a store's while it is mounted is not to be used, or not yet: a clone is
    /// there before its files are.
    private static func objection(
        toReplacement folder: FilePath, needsList: Bool, _ environment: [String: String]
    ) -> String? {
        if let objection = StorePlace.objection(to: folder, environment: environment) { return objection }
        var facts = stat()
        let list = folder.appending(".gpg-id")
        if needsList,
            list.withPlatformString({ lstat($0, &facts) }) != 0 || facts.st_mode & S_IFMT != S_IFREG
        {
            return "has no .gpg-id at its top"
        }
        let lock = folder.appending(".git").appending("index.lock")
        if lock.withPlatformString({ lstat($0, &facts) }) == 0, time(nil) - facts.st_mtim.tv_sec < 60 {
            return "is being checked out by git"
        }
        return nil
    }

    /// The setting of encryption counts when a keyring is first used: at the daemon's start.
    private func engine(_ keyring: FilePath?, _ encryption: EncryptionWay) throws(OpenPGPError) -> GnuPG {
        try engines.withLock { (engines) throws(OpenPGPError) in
            if let known = engines[keyring] { return known }
            let log = log
            let engine = try GnuPG(home: keyring, encryption: encryption) { log.notice("\($0)") }
            engines[keyring] = engine
            return engine
        }
    }

    private func failed(
        _ definition: StoreDefinition, _ fixed: ServedStore.Fixed, _ reason: String
    ) -> ServedStore {
        let failure = "the store \"\(definition.name)\" in \(definition.path) cannot be opened: \(reason)"
        log.error("\(failure)")
        return ServedStore(definition, fixed: fixed, path: definition.path, failure: failure)
    }

    /// The folder without links on the way.
    private func resolved(_ path: FilePath) throws(Errno) -> FilePath {
        let resolved = try path.resolvingLinks()
        var facts = stat()
        guard resolved.withPlatformString({ stat($0, &facts) }) == 0 else { throw .last }
        guard facts.st_mode & S_IFMT == S_IFDIR else { throw .notDirectory }
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

    func branchMayHaveMoved() {
        guard let committer = served.withLock({ $0.store })?.committer else { return }
        Task { await committer.branchMayHaveMoved() }
    }
}
