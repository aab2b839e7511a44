import Glibc
import System
import SystemPackage

/// passdir's folders, by the XDG Base Directory Specification: a variable counts when it holds an absolute path.
public struct Directories: Sendable, Equatable {
    /// `$XDG_CONFIG_HOME/passdir`, or `~/.config/passdir`.
    public var config: FilePath
    /// `$XDG_STATE_HOME/passdir`, or `~/.local/state/passdir`.
    public var state: FilePath
    /// `$XDG_DATA_HOME/passdir`, or `~/.local/share/passdir`.
    public var data: FilePath
    /// `$XDG_CACHE_HOME/passdir`, or `~/.cache/passdir`.
    public var cache: FilePath
    /// `$XDG_RUNTIME_DIR/passdir`; without the variable `/run/user/UID/passdir` if that folder is ours; else
    /// `/tmp/passdir-UID`, whose name anyone could take: who uses it asks whether it `isOurs`.
    public var runtime: FilePath

    /// The folders that an environment names. They are not made here.
    public init(environment: [String: String]) {
        func folder(_ variable: String, _ fallback: FilePath) -> FilePath {
            if let value = environment[variable], value.hasPrefix("/") {
                return FilePath(value).appending("passdir")
            }
            let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? FilePath($0) : nil }
            return (home ?? HomeDirectory.current).pushing(fallback).appending("passdir")
        }
        config = folder("XDG_CONFIG_HOME", ".config")
        state = folder("XDG_STATE_HOME", ".local/state")
        data = folder("XDG_DATA_HOME", ".local/share")
        cache = folder("XDG_CACHE_HOME", ".cache")
        if let named = environment["XDG_RUNTIME_DIR"], named.hasPrefix("/") {
            runtime = FilePath(named).appending("passdir")
        } else {
            let session = FilePath("/run/user/\(getuid())")
            runtime =
                Self.isOurs(session) ? session.appending("passdir") : FilePath("/tmp/passdir-\(getuid())")
        }
    }

    /// Makes a folder (0700), or checks that the one there is a folder of ours, no symbolic link, and closed to others;
    /// the folders above it must exist.
    /// - Throws: `.unsafeFolder`, `.access`.
    public static func makePrivate(_ folder: FilePath) throws(SettingsError) {
        _ = try rethrowing(folder.makeFolder()) { (error: Errno) in
            SettingsError(code: .access, message: "cannot be created: \(error)", file: folder)
        }
        guard isOurs(folder) else {
            throw SettingsError(
                code: .unsafeFolder,
                message: "must be a folder that you own and that others cannot access (chmod 700)",
                file: folder)
        }
    }

    /// A folder, no symbolic link, of this user, without any permission of others.
    public static func isOurs(_ folder: FilePath) -> Bool {
        guard let facts = folder.facts() else { return false }
        return facts.kind == .directory && facts.st_uid == getuid() && facts.st_mode & 0o077 == 0
    }
}
