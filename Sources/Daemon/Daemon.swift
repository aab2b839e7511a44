import OpenPGP
import Settings
import Stores
public import SystemPackage

/// One line of `passdir store list`.
public struct StoreListing: Codable, Sendable, Equatable {
    /// The store's name: its directory under the mount point.
    public var name: String
    /// The folder with the encrypted files.
    public var path: String
    /// Whether it is mounted because it is pass's own store and none was added.
    public var isImplicit: Bool

    /// A store by its name and its folder.
    public init(name: String, path: String, isImplicit: Bool) {
        self.name = name
        self.path = path
        self.isImplicit = isImplicit
    }
}

/// One mounted process, and the set-up that it reads: what the command calls.
public enum Daemon {
    /// Serves the mount until it is unmounted, then commits and pushes what waits.
    ///
    /// `ready` is called once, when the mount answers or when it cannot be made.
    public static func run(
        mountPoint: FilePath, environment: [String: String], ready: (Result<Void, DaemonError>) -> Void
    ) throws(DaemonError) {
        let service: MountService
        do {
            service = try MountService(mountPoint: mountPoint, environment: environment)
        } catch {
            ready(.failure(error))
            throw error
        }
        ready(.success(()))
        service.serve()
    }

    /// Adopts a store that exists.
    public static func addStore(
        name: String, path: FilePath, environment: [String: String]
    ) throws(DaemonError) {
        do {
            try Registry(try configuration(environment), environment: environment).add(name: name, path: path)
        } catch {
            throw DaemonError(error)
        }
    }

    /// The stores that a mount shows, in the order of the configuration.
    public static func stores(environment: [String: String]) throws(DaemonError) -> [StoreListing] {
        do {
            return try Registry(try configuration(environment), environment: environment).definitions().map {
                StoreListing(name: $0.name, path: $0.path.string, isImplicit: $0.isImplicit)
            }
        } catch {
            throw DaemonError(error)
        }
    }

    /// The mount point: the argument, else the setting `mount.path`, else `~/passdir`; absolute.
    public static func mountPoint(
        argument: FilePath?, environment: [String: String]
    ) throws(DaemonError) -> FilePath {
        if let argument { return argument.lexicallyNormalized() }
        do {
            return try configuration(environment).value(Catalogue.mountPath).lexicallyNormalized()
        } catch {
            throw DaemonError(error)
        }
    }

    /// The control socket of this user's daemon.
    public static func controlSocket(environment: [String: String]) -> FilePath {
        Places.controlSocket(environment: environment)
    }

    static func configuration(_ environment: [String: String]) throws(SettingsError) -> Configuration {
        try Configuration(file: Configuration.defaultPath(environment: environment))
    }
}
