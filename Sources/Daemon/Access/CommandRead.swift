import Access
import Settings
import Sync
import SystemPackage

/// Judges what a command prints of a secret: who started the command reads, not the command.
public enum CommandRead {
    /// Whether a process may be shown a secret; waits while a person is asked. Without a daemon the configuration's rules are
    /// asked, and no earlier answer counts.
    ///
    /// - Parameter secret: STORE/PATH, as the mount shows it.
    /// - Throws: why nothing can be said.
    public static func isAllowed(
        _ secret: String, process: Int32, environment: [String: String]
    ) throws -> Bool {
        do throws(ControlError) {
            return try ControlClient(socket: Daemon.controlSocket(environment: environment))
                .mayRead(secret, process: process)
        } catch {
            guard error.code == .noDaemon else { throw error }
        }
        let options = try AccessOptions(Daemon.configuration(environment))
        let gate = AccessGate(log: Daemon.accessLog(environment: environment)) {
            DesktopNotification.showAndWait($0, $1)
        }
        gate.use(options)
        defer { gate.close() }
        return gate.judgeAndWait(process, reading: secret)
    }
}

extension Daemon {
    /// The file in which it is noted who reads.
    public static func accessLog(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending(AccessLog.fileName)
    }
}
