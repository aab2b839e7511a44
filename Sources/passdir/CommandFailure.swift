import Daemon
import System
import SystemPackage

/// Ends a command with exit status 1 and one line on standard error, as every `SentenceError` does.
struct CommandFailure: SentenceError {
    /// What follows `passdir: `; printed on one line.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    /// A place in a store that is not there.
    init(_ store: String, hasNo place: String) {
        self.init("there is no secret or folder \"\(place)\" in the store \"\(store)\"")
    }

    /// No daemon is a usual state, not a broken one: say what to do.
    static func noDaemon() -> CommandFailure {
        let environment = CallerEnvironment.variables()
        if let place = stale(environment) {
            return CommandFailure(
                "the daemon of \(place) has ended without unmounting; 'passdir mount' mounts your stores again, and commits "
                    + "what was saved")
        }
        return CommandFailure("nothing is mounted; 'passdir mount' mounts your stores")
    }

    /// The mount that a daemon has left when it was killed; nil where there is none.
    static func stale(_ environment: [String: String]) -> FilePath? {
        guard let place = try? Daemon.mountPoint(argument: nil, environment: environment),
            Daemon.isStale(place)
        else { return nil }
        return place
    }
}
