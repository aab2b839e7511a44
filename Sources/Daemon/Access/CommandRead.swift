import Access
import Glibc
import Mount
import Settings
import Stores
import Sync
import SystemPackage

/// Judges what a command prints of a secret: who started the command reads, not the command.
public enum CommandRead {
    /// Who has what this command prints: the process that started it. One that has ended, and is known by whoever adopted this
    /// process, has left us in its session: then it is this process that is judged, by its group, session and unit.
    private static var reader: Int32 {
        let parent = getppid()
        return parent > 1 && getsid(parent) == getsid(0) ? parent : getpid()
    }

    /// Why whoever started this command may not be shown a secret, as a sentence without a full stop; nil where it may. Waits
    /// while a person is asked.
    ///
    /// - Parameter path: as the mount shows it.
    /// - Throws: why nothing can be said.
    public static func objection(
        toShowing path: FilePath, ofStore store: String, environment: [String: String]
    ) throws -> String? {
        if let objection = lockObjection(ofStore: store, environment: environment) { return objection }
        let secret = "\(store)/\(path)"
        if try isAllowed(secret, process: reader, environment: environment) { return nil }
        return
            "the access rules refuse reading \(secret): passdir access log \(ShellWord.quoted(secret)) says why"
    }

    /// That a store is locked, as a sentence without a full stop; nil where it is not.
    static func lockObjection(ofStore store: String, environment: [String: String]) -> String? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        guard let locked = try? client.access().locked, locked.contains(store) else { return nil }
        return "\(store) is locked; passdir unlock \(ShellWord.quoted(store))"
    }

    /// Whether a process may be shown a secret; waits while a person is asked. Without a daemon the configuration's rules are
    /// asked, and no earlier answer counts.
    ///
    /// - Parameter secret: STORE/PATH, as the mount shows it.
    /// - Throws: why nothing can be said.
    private static func isAllowed(
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
        return gate.judgeAndWait(process, reading: gate.judgedPlace(of: secret, reader: process))
    }
}

extension Daemon {
    /// The file in which it is noted who reads.
    public static func accessLog(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending(AccessLog.fileName)
    }
}
