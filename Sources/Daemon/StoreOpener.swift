import Logging
import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// Makes a `Store` of its definition, its settings and its keyring, for the daemon and for every command.
final class StoreOpener: Sendable {
    let configuration: Configuration
    let registry: Registry
    let environment: [String: String]
    private let log: Logger
    /// What is encrypted with. It counts when a keyring is first used: in the daemon, at its start.
    private let encryption: EncryptionWay
    /// One for each keyring; nil is that of GNUPGHOME.
    private let engines = Mutex<[FilePath?: OpenPGPEngine]>([:])

    /// What fails is told by the command itself.
    static let quietLog = Logger(label: "passdir") { _ in SwiftLogNoOpLogHandler() }

    init(
        _ configuration: Configuration, environment: [String: String], log: Logger = quietLog
    ) throws(DaemonError) {
        self.configuration = configuration
        self.environment = environment
        self.log = log
        registry = Registry(configuration, environment: environment)
        encryption = try DaemonError.wrapping { try EncryptionWay(configuration) }
    }

    /// For a command: reads the configuration.
    convenience init(environment: [String: String]) throws(DaemonError) {
        let configuration = try DaemonError.wrapping { try Daemon.configuration(environment) }
        try self.init(configuration, environment: environment)
    }

    /// All stores, as the configuration has them now.
    func definitions() throws(DaemonError) -> [StoreDefinition] {
        return try DaemonError.wrapping { try registry.definitions() }
    }

    /// The store of a name.
    func definition(named name: String) throws(DaemonError) -> StoreDefinition {
        return try DaemonError.wrapping { try registry.definition(named: name) }
    }

    /// By what a store works now.
    func settings(of definition: StoreDefinition) throws(DaemonError) -> StoreSettings {
        return try DaemonError.wrapping { try StoreSettings(configuration, of: definition) }
    }

    /// The engine of a keyring; nil is that of GNUPGHOME.
    func engine(_ keyring: FilePath?) -> OpenPGPEngine {
        engines.withLock { engines in
            if let known = engines[keyring] { return known }
            let log = log
            let engine = OpenPGPEngine(home: keyring, encryption: encryption) { log.notice("\($0)") }
            engines[keyring] = engine
            return engine
        }
    }

    /// The same, and gpg is there: for who must know before anything is asked of it.
    func preparedEngine(_ keyring: FilePath?) throws(OpenPGPError) -> OpenPGPEngine {
        let engine = engine(keyring)
        try engine.prepare()
        return engine
    }

    /// The store in a folder.
    func store(_ settings: StoreSettings, in root: Root, learned: LearnedState? = nil) -> Store {
        Store(
            name: settings.definition.name, identifier: settings.definition.identifier, root: root,
            engine: engine(settings.definition.keyring),
            options: Store.Options(settings, environment: environment), learned: learned)
    }

    /// A store as a command works on it.
    func store(_ definition: StoreDefinition, for use: StoreUse) throws(DaemonError) -> Store {
        let root = try definition.root(for: use, environment: environment)
        let settings = try settings(of: definition)
        // Who changes a store is told first that there is no gpg; a look may do without.
        if use == .writing { _ = try DaemonError.wrapping { try preparedEngine(definition.keyring) } }
        return store(settings, in: root)
    }

    /// How a command commits to a store.
    func committing(_ definition: StoreDefinition) throws(DaemonError) -> Committer.Options {
        return try DaemonError.wrapping {
            let credentials = LayeredCredentialStore.standard(
                environment: environment, ownKey: try configuration.value(Catalogue.credentialKey))
            var options = Committer.Options(
                try StoreSettings(configuration, of: definition), credentials: credentials)
            options.identity = GivenIdentity(environment: environment)
            return options
        }
    }
}

extension StoreOpener {
    /// Keeps what a command learned of a store where the daemon looks for it. Losing it does no harm.
    func keepingFacts(of store: String) -> @Sendable (String, String) -> Void {
        let environment = environment
        return { name, value in
            guard let learned = LearnedState.shared(environment) else { return }
            learned.remember(value, as: name, of: store)
            learned.close()
        }
    }
}
