import Access
import Git
import Mount
import Settings
import Stores
import Sync
import SystemPackage

/// What the configuration says of the mount as a whole.
struct MountSetup {
    let configuration: Configuration
    let registry: Registry
    let definitions: [StoreDefinition]
    let credentials: any CredentialStore
    var options = StoreFilesystem.Options()
    let level: LogLevel
    let saveRetry: Duration
    let gate: AccessGate
    let unmountTimeout: Duration

    init(_ environment: [String: String]) throws {
        configuration = try Daemon.configuration(environment)
        level = try configuration.value(Catalogue.logLevel)
        saveRetry = try configuration.value(Catalogue.saveRetry)
        unmountTimeout = try configuration.value(Catalogue.unmountTimeout)
        options.secretLimit = try configuration.value(Catalogue.secretLimit)
        LibGit2.limitObjects(toBytes: Store.Options.ciphertextLimit(secrets: options.secretLimit))
        options.scratchLimit = try configuration.value(Catalogue.scratchLimit)
        options.scratchPatterns = try configuration.value(Catalogue.scratchPatterns)
        options.grace = try configuration.value(Catalogue.grace)
        options.saveFailed = { secret in
            DesktopNotification.show(secret.store, "\(secret.path) is not saved: \(secret.message)")
        }
        gate = AccessGate(log: Daemon.accessLog(environment: environment)) {
            DesktopNotification.show($0, $1)
        }
        gate.use(try AccessOptions(configuration))
        gate.forgetOldLines()
        options.judge = gate
        options.consent = gate
        options.past = RepositoryPast { HistoryPoint(typed: $0) }
        options.notes = ControlNotes.all
        options.countingTurns = CountingTurns { (secret) throws(Errno) in
            try CountingLock.wait(for: secret, environment: environment)
        }
        options.cacheTime = try configuration.value(Catalogue.cacheTime)
        registry = Registry(configuration, environment: environment)
        credentials = LayeredCredentialStore.standard(
            environment: environment, ownKey: try configuration.value(Catalogue.credentialKey))
        _ = try registry.importAtFirstStart()
        definitions = try registry.definitions()
    }
}
