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
            daemon: daemon)
        for away in try administration.recover() { away.print() }
    }

    /// The names of all stores, for completion; nothing when the configuration cannot be read.
    static func names() -> [String] {
        let environment = CallerEnvironment.variables()
        guard
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let all = try? Registry(configuration, environment: environment).definitions()
        else { return [] }
        return all.map(\.name)
    }

    /// The names of stores, as shells complete them. A shell splits and may evaluate what it is given, so names that it
    /// would read as anything but a word are not completed.
    static let completion = CompletionKind.custom { _, _, prefix in
        names().filter { name in
            name.hasPrefix(prefix)
                && name.unicodeScalars.allSatisfy { scalar in
                    scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
                        || "._-@+".unicodeScalars.contains(scalar)
                }
        }
    }
}
