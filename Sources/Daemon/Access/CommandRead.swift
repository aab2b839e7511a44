import Access
import Glibc
import Mount
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// Judges what a command prints of a secret, or whom it encrypts secrets to: who started the command reads, not the command.
public enum CommandRead {
    /// Who has what a command prints: the process that started it. One that has ended, and is known by whoever adopted the
    /// command, has left it in its session: then it is the command that is judged, by its group, session and unit.
    ///
    /// - Parameter command: a process as this one sees it; 0 where it cannot be seen from here.
    static func reader(of command: Int32) -> Int32 {
        guard let folder = ProcessFolder(command), let facts = ProcessFacts(of: folder), facts.parent > 1,
            let parentFolder = ProcessFolder(facts.parent), let parent = ProcessFacts(of: parentFolder)
        else { return command }
        return parent.session == facts.session ? facts.parent : command
    }

    /// This process as /proc shows it, of which the numbers of others are taken: in a namespace of its own it may have another
    /// number than it is told itself, which somebody else has in /proc.
    private static var own: Int32 {
        let target = FilePath("/proc/self").linkTarget ?? []
        return Int32(String(decoding: target, as: UTF8.self)) ?? 0
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
        if try isAllowed(secret, environment: environment) { return nil }
        return
            "the access rules refuse reading \(secret): passdir access log \(ShellWord.quoted(secret)) says why"
    }

    /// Why whoever started this command may not change whom a folder is encrypted to, as a sentence without a full stop; nil where
    /// it may: they must be one who may read all that lies below. Waits while a person is asked.
    ///
    /// - Parameter folder: as the mount shows it; empty for the store.
    /// - Throws: why nothing can be said.
    static func objection(
        toChangingRecipientsOf folder: FilePath, ofStore store: String, environment: [String: String]
    ) throws -> String? {
        let place = folder.isEmpty ? store : "\(store)/\(folder)"
        let list = "\(place)/\(Store.recipientFileName)"
        if try isAllowed(list, changes: true, environment: environment) { return nil }
        return
            "the access rules refuse changing who can read \(place): passdir access log \(ShellWord.quoted(place)) says why"
    }

    /// That a store is locked, as a sentence without a full stop; nil where it is not.
    static func lockObjection(ofStore store: String, environment: [String: String]) -> String? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        guard let locked = try? client.access().locked, locked.contains(store) else { return nil }
        return "\(store) is locked; passdir unlock \(ShellWord.quoted(store))"
    }

    /// What judges without a daemon, one for all that a command reads: an answer counts for the whole command, and the log is opened
    /// once.
    private static let ownGate = Mutex<(log: FilePath, gate: AccessGate)?>(nil)

    private static func ownGate(environment: [String: String]) -> AccessGate {
        let log = Daemon.accessLog(environment: environment)
        return ownGate.withLock { known in
            if let known, known.log == log { return known.gate }
            let gate = AccessGate(log: log) { DesktopNotification.showAndWait($0, $1) }
            known = (log, gate)
            return gate
        }
    }

    /// Whether who started this command may be shown a secret, or change a list of recipients; waits while a person is asked.
    /// Without a daemon the configuration's rules are asked, and no answer to an earlier command counts.
    ///
    /// - Parameters:
    ///   - secret: STORE/PATH, as the mount shows it.
    ///   - changes: whether it is a list of recipients, and is changed.
    /// - Throws: why nothing can be said.
    private static func isAllowed(
        _ secret: String, changes: Bool = false, environment: [String: String]
    ) throws -> Bool {
        do throws(ControlError) {
            return try ControlClient(socket: Daemon.controlSocket(environment: environment))
                .mayRead(secret, changes: changes)
        } catch {
            guard error.code == .noDaemon else { throw error }
        }
        let options = try AccessOptions(Daemon.configuration(environment))
        let gate = ownGate(environment: environment)
        gate.use(options)
        // The command may end right behind this.
        defer { gate.writeWholeLog() }
        let process = reader(of: own)
        if changes { return gate.judgeAndWait(process, changing: secret) }
        return gate.judgeAndWait(process, reading: gate.judgedPlace(of: secret, reader: process))
    }
}

extension Daemon {
    /// The file in which it is noted who reads.
    public static func accessLog(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending(AccessLog.fileName)
    }
}
