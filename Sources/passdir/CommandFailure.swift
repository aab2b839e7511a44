import Daemon
import Stores
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
        if let (place, command) = stale(environment) {
            return CommandFailure(
                "the daemon for \(place) exited without unmounting; '\(command)' mounts your stores again and "
                    + "commits what was saved")
        }
        if let other = OtherDaemon.find(environment: environment) { return CommandFailure(other.sentence) }
        return CommandFailure("nothing is mounted; 'passdir mount' mounts your stores")
    }

    /// The mount that a daemon has left when it was killed, and the command that mends it; nil where there is none.
    static func stale(_ environment: [String: String]) -> (place: FilePath, command: String)? {
        let usual = try? Daemon.mountPoint(argument: nil, environment: environment)
        if let usual, Daemon.isStale(usual) { return (usual, "passdir mount") }
        guard let last = Daemon.lastMountPoint(environment: environment), Daemon.isStale(last) else {
            return nil
        }
        return (last, "passdir mount \(ShellWord.quoted(last.string))")
    }
}
