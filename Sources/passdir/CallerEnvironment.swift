import System
import SystemPackage

/// What the caller's shell hands over: variables.
enum CallerEnvironment {
    /// All variables. The daemon runs in `/`, so the two that name a folder and may be relative are made absolute.
    static func variables() -> [String: String] {
        var variables = ProcessEnvironment.variables()
        for name in ["GNUPGHOME", "PASSWORD_STORE_DIR"] {
            if let folder = variables[name], !folder.isEmpty {
                variables[name] = FilePath(folder).absolute.string
            }
        }
        return variables
    }
}
