import Dispatch
import Glibc
import Logging
import OpenPGP
import Settings
public import Stores
import Sync
public import SystemPackage

/// A store as a command works on it by itself, whether it is mounted or not, and a place in it.
public struct StoreAccess: Sendable {
    /// The store.
    public let store: Store
    /// The path in it that was named; empty for the store itself.
    public let path: FilePath
    /// The path on disk of what was named: what the mount shows there, or the secret that it would be.
    public var backingPath: FilePath { VisibleName.backingPath(of: path, in: store.root) }
    private let committing: Committer.Options

    /// The store that an argument names (`TypedPlace`).
    /// - Throws: One sentence where there is no such store, or it is not for that use.
    public static func open(
        _ argument: String, for use: StoreUse, environment: [String: String]
    ) throws(DaemonError) -> StoreAccess {
        let opening = try Opening(environment: environment)
        let place = try TypedPlace(argument, in: opening.registry, environment: environment)
        return try opening.access(to: place.store, place.path, for: use)
    }

    /// Stores by their names; without any all but those whose folder can be none.
    /// - Throws: One sentence where there is no store of a name, or one cannot be opened.
    public static func all(named names: [String] = [], environment: [String: String]) throws(DaemonError)
        -> [StoreAccess]
    {
        let opening = try Opening(environment: environment)
        var found: [StoreAccess] = []
        for definition in try opening.definitions(named: names) {
            found.append(try opening.access(to: definition, FilePath(), for: .reading))
        }
        return found
    }

    /// What is read once to open any store.
    private struct Opening {
        let environment: [String: String]
        let configuration: Configuration
        let registry: Registry
        let definitions: [StoreDefinition]

        init(environment: [String: String]) throws(DaemonError) {
            self.environment = environment
            do throws(SettingsError) {
                configuration = try Daemon.configuration(environment)
                registry = Registry(configuration, environment: environment)
                definitions = try registry.definitions()
            } catch {
                throw DaemonError(error)
            }
        }

        func definitions(named names: [String]) throws(DaemonError) -> [StoreDefinition] {
            guard !names.isEmpty else {
                return definitions.filter {
                    StorePlace.objection(toLinked: $0.path, environment: environment) == nil
                }
            }
            do throws(SettingsError) {
                var found: [StoreDefinition] = []
                for name in names { found.append(try registry.definition(named: name)) }
                return found
            } catch {
                throw DaemonError(error)
            }
        }

        func access(to definition: StoreDefinition, _ path: FilePath, for use: StoreUse) throws(DaemonError)
            -> StoreAccess
        {
            let root = try definition.root(for: use, environment: environment)
            do {
                let credentials = LayeredCredentialStore.standard(
                    environment: environment, ownKey: try configuration.value(Catalogue.credentialKey))
                let store = Store(
                    name: definition.name, identifier: definition.identifier, root: root,
                    engine: try GnuPG(
                        home: definition.keyring, encryption: try EncryptionWay(configuration)),
                    options: try Store.Options(
                        configuration, store: definition.name, environment: environment),
                    learned: nil)
                return StoreAccess(
                    store: store, path: path,
                    committing: try CommitterSettings.options(
                        configuration, of: definition, credentials: credentials))
            } catch let error as SettingsError {
                throw DaemonError(error)
            } catch let error as OpenPGPError {
                throw DaemonError(message: error.message)
            } catch {
                throw DaemonError(
                    message:
                        "the store \"\(definition.name)\" in \(definition.path) cannot be opened: \(error)")
            }
        }
    }

    /// Commits changes that lie on disk, and pushes them if that goes quickly; else the daemon does it, or the next
    /// mount.
    /// Blocks the calling thread.
    /// - Throws: why something is not committed.
    public func commit(_ changes: [Change], pushing: Bool = true) throws(DaemonError) {
        var committing = committing
        committing.recovers = false
        let committer = Committer(
            store: store, options: committing, log: Logger(label: "passdir") { _ in SwiftLogNoOpLogHandler() }
        )
        for change in changes { committer.note(change) }
        let done = DispatchSemaphore(value: 0)
        Task {
            await committer.finish(timeout: .seconds(10), pushing: pushing)
            done.signal()
        }
        done.wait()
        let status = committer.status
        if status.pendingChanges > 0 {
            throw DaemonError(message: status.lastError ?? "the changes could not be committed in time")
        }
    }
}
