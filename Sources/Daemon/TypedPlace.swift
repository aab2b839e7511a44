import Glibc
import Mount
import Settings
public import Stores
import System
public import SystemPackage

/// What a user means by a place that was typed: `STORE/PATH`, `ID:PATH`, or a path in the mount or in a store's own folder,
/// absolute or relative to the working directory. One rule for all commands.
public struct TypedPlace: Sendable {
    /// The store.
    public let store: StoreDefinition
    /// Relative to the store, as the mount shows it or as it lies on disk; empty for the store itself.
    public let path: FilePath

    /// - Throws: one sentence where it lies in no store.
    public init(
        _ text: String, in registry: Registry, environment: [String: String]
    ) throws(DaemonError) {
        try Self.refuseSteppingUp(text)
        let definitions = try DaemonError.wrapping { try registry.definitions() }
        let typed = Self.expanded(text, definitions)
        let words = FilePath(typed).lexicallyNormalized()
        if !Self.isPath(typed), let found = Self(words, among: definitions) {
            self = found
            return
        }
        let absolute = FilePath(typed).absolute
        let mount = Self.mountPoint(environment)
        var below = absolute
        if let mount, below.removePrefix(mount), let found = Self(below, among: definitions) {
            self = found
            return
        }
        if mount != nil, below != absolute, below.components.first?.string == StoreFilesystem.controlDirectory
        {
            throw DaemonError(
                message:
                    "\(text) is a value that passdir shows as a file, for cat and other programs: name the secret itself, "
                    + "STORE/PATH")
        }
        for definition in definitions {
            var below = absolute
            guard below.removePrefix(definition.path) else { continue }
            (store, path) = (definition, below)
            return
        }
        guard !Self.isPath(typed), let name = words.components.first, name.kind == .regular else {
            throw DaemonError(
                message:
                    "\(text.isEmpty ? "an empty path" : text) is not in any store: write STORE/PATH, or a path "
                    + "under the mount"
                    + (mount.map { " \($0)" } ?? ""))
        }
        store = try DaemonError.wrapping { try registry.definition(named: name.string) }
        path = FilePath(root: nil, words.components.dropFirst())
    }

    /// - Parameter words: a store's name, and a path in it.
    private init?(_ words: FilePath, among definitions: [StoreDefinition]) {
        guard let name = words.components.first?.string,
            let found = definitions.first(where: { $0.name == name })
        else { return nil }
        store = found
        path = FilePath(root: nil, words.components.dropFirst())
    }

    /// `ID:PATH` as `STORE/PATH`, with the name that the store has now; anything else as it is.
    private static func expanded(_ text: String, _ definitions: [StoreDefinition]) -> String {
        guard let colon = text.firstIndex(of: ":"),
            let store = definitions.first(where: { $0.id == text[..<colon].lowercased() })
        else { return text }
        let path = text[text.index(after: colon)...].drop { $0 == "/" }
        return path.isEmpty ? store.name : "\(store.name)/\(path)"
    }

    /// Whether it can only be a path: it begins with `/`, `./` or `../`. Any other that begins with the name of a store
    /// means that store, whatever the folder holds that the command runs in: others choose the names in there.
    static func isPath(_ text: String) -> Bool {
        let first = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).first
        return first.map { $0.isEmpty || $0 == "." || $0 == ".." } ?? false
    }

    /// Refuses `..` in the place of a store: it means something else to each who reads it. In a path of files it is one of the
    /// shell's.
    /// - Throws: one sentence.
    public static func refuseSteppingUp(_ text: String) throws(DaemonError) {
        guard !isPath(text), FilePath(text).components.contains(where: { $0.kind == .parentDirectory }) else {
            return
        }
        throw DaemonError(
            message: "\(text) has \"..\" in it, which leads nowhere in a store: write STORE/PATH")
    }

    /// Whether it can only be the mount point itself, which holds all stores: as a path, absolute or relative.
    public static func isMountPoint(_ text: String, environment: [String: String]) -> Bool {
        isPath(text) && FilePath(text).absolute == mountPoint(environment)
    }

    /// Where the stores are mounted, or will be.
    private static func mountPoint(_ environment: [String: String]) -> FilePath? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        if let status = try? client.status(limit: .seconds(2)) { return FilePath(status.mount.path) }
        return try? Daemon.mountPoint(argument: nil, environment: environment)
    }
}
