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
    /// The visible path in it that was named; empty for the store itself.
    public let path: FilePath
    private let committing: Committer.Options

    /// The store that an argument names: `STORE/PATH`, `ID:PATH` or a path in the mount.
    public static func open(_ argument: String, environment: [String: String]) throws(DaemonError)
        -> StoreAccess
    {
        let stores = try all(environment: environment)
        let argument = SecretReference.expanded(
            argument, stores: stores.map { ($0.store.identifier, $0.store.name) })
        var path =
            SecretReference.isPath(argument)
            ? Sharing.absolute(argument) : FilePath(argument).lexicallyNormalized()
        if path.isAbsolute {
            let mount =
                (try? ControlClient(socket: Daemon.controlSocket(environment: environment)).status())
                .map { FilePath($0.mount.path) }
            let top: FilePath
            if let mount {
                top = mount
            } else {
                top = try Daemon.mountPoint(argument: nil, environment: environment)
            }
            guard path.removePrefix(top) else {
                throw DaemonError(message: "\(argument) is not in the mount \(top): name STORE/PATH")
            }
        }
        guard let first = path.components.first?.string,
            let found = stores.first(where: { $0.store.name == first })
        else {
            if let first = path.components.first?.string, let objection = objection(to: first, environment) {
                throw DaemonError(message: "the store \"\(first)\" cannot be opened: \(objection)")
            }
            let names = stores.map(\.store.name).joined(separator: ", ")
            throw DaemonError(message: "there is no store of that name in \(argument); there are: \(names)")
        }
        _ = path.removePrefix(FilePath(first))
        return StoreAccess(store: found.store, path: path, committing: found.committing)
    }

    private static func objection(to store: String, _ environment: [String: String]) -> String? {
        guard let configuration = try? Daemon.configuration(environment),
            let definition = try? Registry(configuration, environment: environment).definition(named: store)
        else { return nil }
        return StorePlace.objection(toLinked: definition.path, environment: environment).map {
            "\(definition.path) \($0)"
        }
    }

    /// All stores but those whose folder can be none.
    public static func all(environment: [String: String]) throws(DaemonError) -> [StoreAccess] {
        do {
            let configuration = try Daemon.configuration(environment)
            let credentials = LayeredCredentialStore.standard(
                environment: environment, ownKey: try configuration.value(Catalogue.credentialKey))
            return try Registry(configuration, environment: environment).definitions().compactMap {
                definition in
                guard StorePlace.objection(toLinked: definition.path, environment: environment) == nil else {
                    return nil
                }
                let store = Store(
                    name: definition.name, identifier: definition.identifier,
                    root: try Root(path: definition.path),
                    engine: try GnuPG(
                        home: definition.keyring, encryption: try EncryptionWay(configuration)),
                    options: try Store.Options(
                        configuration, store: definition.name, environment: environment),
                    learned: nil)
                return StoreAccess(
                    store: store, path: FilePath(),
                    committing: try CommitterSettings.options(
                        configuration, of: definition, credentials: credentials))
            }
        } catch let error as SettingsError {
            throw DaemonError(error)
        } catch let error as OpenPGPError {
            throw DaemonError(message: error.message)
        } catch {
            throw DaemonError(message: "a store cannot be opened: \(error)")
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
