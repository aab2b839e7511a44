import Glibc
import System
import SystemPackage

/// What the caller's shell hands over: variables and the working directory.
enum CallerEnvironment {
    /// All variables. The daemon runs in `/`, so the two that name a folder and may be relative are made absolute.
    static func variables() -> [String: String] {
        var variables = ProcessEnvironment.variables()
        for name in ["GNUPGHOME", "PASSWORD_STORE_DIR"] {
            if let folder = variables[name], !folder.isEmpty { variables[name] = absolute(folder).string }
        }
        return variables
    }

    /// A path as the caller means it, without `.` and `..` where that needs no look at the disk.
    static func absolute(_ path: String) -> FilePath {
        var folder = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&folder, folder.count) != nil else { return FilePath(path) }
        return FilePath(platformString: folder).pushing(FilePath(path)).lexicallyNormalized()
    }
}
