import ArgumentParser
import Daemon
import OpenPGP
import Settings
import Stores
import SystemPackage

/// What the commands about stores work with: the configuration, the credentials and the daemon of the caller.
struct StoreContext {
    let environment = CallerEnvironment.variables()
    let registry: Registry
    let administration: StoreAdministration
    let daemon: ServingDaemonClient

    var credentials: any CredentialStore { administration.credentials }

    /// Reads the configuration, and brings in order what a killed command left.
    init() throws {
        let configuration = try Configuration(file: Configuration.defaultPath(environment: environment))
        registry = Registry(configuration, environment: environment)
        daemon = ServingDaemonClient(socket: Daemon.controlSocket(environment: environment))
        administration = StoreAdministration(
            registry: registry, environment: environment,
            credentials: LayeredCredentialStore.standard(
                environment: environment, ownKey: try configuration.value(Catalogue.credentialKey)),
            daemon: daemon, tellWaiting: { StandardError.print("passdir: \($0)") })
        for away in try administration.recover() { away.print() }
    }

    /// All stores; none when the configuration cannot be read.
    static func definitions() -> [StoreDefinition] {
        let environment = CallerEnvironment.variables()
        guard
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let all = try? Registry(configuration, environment: environment).definitions()
        else { return [] }
        return all
    }

    /// The names of stores, as shells complete them.
    static let completion = CompletionKind.words { prefix in
        definitions().map(\.name).filter { $0.hasPrefix(prefix) }
    }
}
