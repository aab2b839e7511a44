import SystemPackage

/// Why the daemon or a command of its cannot do what was asked.
public struct DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence for people.
    public let message: String

    /// An error by its sentence.
    public init(message: String) {
        self.message = message
    }

    /// The sentence.
    public var description: String { message }
}

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

/// One mounted process, and the set-up that it reads.
public enum Daemon {
    /// Serves the mount until it is unmounted.
    public static func run(
        mountPoint: FilePath?, environment: [String: String],
        ready: (Result<Void, DaemonError>) -> Void
    ) throws(DaemonError) {
        throw DaemonError(message: "mounting is not built in yet")
    }

    /// Adopts a store that exists.
    public static func addStore(
        name: String, path: FilePath, environment: [String: String]
    ) throws(DaemonError) {
        throw DaemonError(message: "stores are not built in yet")
    }

    /// The stores that a mount shows, in the order of their names.
    public static func stores(environment: [String: String]) throws(DaemonError) -> [StoreListing] {
        []
    }

    /// The mount point: the argument, else the setting `mount.path`, else `~/passdir`; absolute.
    public static func mountPoint(
        argument: FilePath?, environment: [String: String]
    ) throws(DaemonError) -> FilePath {
        argument ?? FilePath(environment["HOME"] ?? "/").appending("passdir")
    }

    /// The control socket of this user's daemon.
    public static func controlSocket(environment: [String: String]) -> FilePath {
        Places.controlSocket(environment: environment)
    }
}
