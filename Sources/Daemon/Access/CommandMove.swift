import Access
import Settings
import Stores
import System
import SystemPackage

/// Judges a new name that a command gives a secret: what a name's rules keep from a program, another name must not give it.
enum CommandMove {
    /// Whether the same rules hold under both names, so that nobody can read more than before; else who moves must be one who
    /// may read. Places are STORE/PATH, as the mount shows them.
    static func keepsRules(
        _ place: String, to other: String, environment: [String: String]
    ) throws(DaemonError) -> Bool {
        let rules = try DaemonError.wrapping { try AccessOptions(Daemon.configuration(environment)).rules }
        guard !rules.isEmpty else { return true }
        // By whose rules a second version is judged depends on what else there is.
        for path in [place, other] where ConflictName.isLikely(path) || FilePath(path).isSecretName {
            return false
        }
        let (from, to) = (rules.governing(place), rules.governing(other))
        return from == to && from != place && to != other && rules.places(below: place).isEmpty
            && rules.places(below: other).isEmpty
    }
}
