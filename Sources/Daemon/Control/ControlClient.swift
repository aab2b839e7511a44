public import Access
import CLinux
import Glibc
public import Sync
import System
import SystemPackage

/// Asks the daemon over its control socket. Every call has a time limit.
public struct ControlClient: Sendable {
    private let socket: FilePath
    /// A report of many stores with many failed saves is long; more than this is not from a daemon of ours.
    private static let replyLimit = 16 * 1024 * 1024

    /// A client for the daemon at a socket path; connects with each call.
    public init(socket: FilePath) {
        self.socket = socket
    }

    /// The mount and its stores as they are now.
    ///
    /// - Throws: `noDaemon` when none runs; `timedOut`, `refused`, `failed`.
    public func status(limit: Duration = .seconds(10)) throws(ControlError) -> StatusReport {
        try call(ControlInterface.status, NoParameters(), limit: limit, returning: StatusReport.self)
    }

    /// Ends the mount; returns when it is gone, what waited is committed and pushed, as far as possible, and the
    /// daemon has ended, so that another one can be started at once.
    ///
    /// - Parameters:
    ///   - discardUnsaved: lose saves that failed and are still in memory.
    ///   - limit: how long commits and pushes may take; the daemon goes on unmounting after that.
    /// - Returns: what is not committed or not pushed, a sentence a store; empty when all is.
    /// - Throws: `noDaemon`, `busy`, `unsaved`; `timedOut`, `refused`, `failed`.
    @discardableResult
    public func unmount(
        discardUnsaved: Bool, limit: Duration = .seconds(120)
    ) throws(ControlError) -> [String] {
        struct Reply: Decodable { let left: [String]? }
        let deadline = ContinuousClock.now + limit
        let daemon = passdir_pidfd_open(try status().mount.pid)
        defer { if daemon >= 0 { close(daemon) } }
        let reply = try call(
            ControlInterface.unmount, ["discardUnsaved": discardUnsaved], limit: limit,
            returning: Reply.self)
        let left = reply.left ?? []
        // The answer is its last act but for letting go of what it holds. Where something is left that may be a disk which
        // does not answer: the kernel lets none go that waits for one, and another one can be started all the same.
        if daemon >= 0 {
            let patience = Duration.seconds(left.isEmpty ? 20 : 1)
            _ = try? Poll.wait(for: POLLIN, on: daemon, until: min(deadline, .now + patience))
        }
        return left
    }

    /// Makes the daemon follow the configuration; returns when it does.
    ///
    /// - Parameters:
    ///   - pushing: the name of a store whose changes are saved, committed and pushed before.
    ///   - reopening: the id of a store whose folder was replaced.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed` with what is wrong in the configuration.
    public func reload(
        pushing: String? = nil, reopening: String? = nil, limit: Duration = .seconds(60)
    ) throws(ControlError) {
        _ = try call(
            ControlInterface.reload, ["settle": pushing, "reopen": reopening].compactMapValues(\.self),
            limit: limit, returning: NoParameters.self)
    }

    /// Makes the daemon try again what could not be saved; returns when that is done.
    ///
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed`.
    public func retrySaves(limit: Duration = .seconds(60)) throws(ControlError) {
        _ = try call(
            ControlInterface.retrySaves, NoParameters(), limit: limit, returning: NoParameters.self)
    }

    /// Makes the daemon give up texts that could not be saved; returns when the mount shows what lies on disk.
    ///
    /// - Parameter path: of one of them, as the mount shows it; nil for all of the store.
    /// - Returns: those that were given up.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed`.
    public func discardUnsaved(
        store: String, path: String? = nil, limit: Duration = .seconds(60)
    ) throws(ControlError) -> [String] {
        struct Parameters: Encodable {
            var store: String
            var path: String?
        }
        return try call(
            ControlInterface.discardUnsaved, Parameters(store: store, path: path), limit: limit,
            returning: [String: [String]].self)["discarded"] ?? []
    }

    /// Locks stores; returns when what was decrypted of them is forgotten.
    ///
    /// - Parameter stores: their names; none for all.
    /// - Returns: what may not be forgotten, as a sentence without a full stop; nil when all is.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed` for a name that no store has.
    public func lock(_ stores: [String], limit: Duration = .seconds(30)) throws(ControlError) -> String? {
        try call(
            ControlInterface.lock, stores.isEmpty ? [:] : ["stores": stores], limit: limit,
            returning: [String: String].self)["complaint"]
    }

    /// Unlocks stores.
    ///
    /// - Parameter stores: their names; none for all.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed` for a name that no store has.
    public func unlock(_ stores: [String], limit: Duration = .seconds(30)) throws(ControlError) {
        _ = try call(
            ControlInterface.unlock, stores.isEmpty ? [:] : ["stores": stores], limit: limit,
            returning: NoParameters.self)
    }

    /// Tells that the passphrases of stores were entered, so that what status says of prompts that failed is over.
    ///
    /// - Throws: as `unlock`.
    public func passphrasesEntered(
        _ stores: [String], limit: Duration = .seconds(10)
    ) throws(ControlError) {
        struct Parameters: Encodable {
            let stores: [String]
            let entered = true
        }
        _ = try call(
            ControlInterface.unlock, Parameters(stores: stores), limit: limit,
            returning: NoParameters.self)
    }

    /// Takes back the change of recipients that a save of a `.gpg-id` in the mount is making; returns when that is done, or
    /// the change is complete.
    ///
    /// - Parameters:
    ///   - store: the name of the store.
    ///   - limit: how long to wait; the daemon goes on after that.
    /// - Returns: nil where no save is making one, or it failed and could not be taken back.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed`.
    public func abortSave(
        store: String, limit: Duration = .seconds(600)
    ) throws(ControlError) -> AbortedSave? {
        try call(
            ControlInterface.abortSave, ["store": store], limit: limit, returning: [String: AbortedSave].self)[
                "aborted"]
    }

    /// The rules of who may read that are in force; returns when what was read so far is in the log.
    ///
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed`.
    public func access(limit: Duration = .seconds(10)) throws(ControlError) -> AccessReport {
        try call(ControlInterface.access, NoParameters(), limit: limit, returning: AccessReport.self)
    }

    /// Has the daemon judge a read of a secret by whoever started this command; waits while a person is asked.
    ///
    /// - Parameters:
    ///   - secret: STORE/PATH, as the mount shows it.
    ///   - changes: whether it is a list of recipients that is to be changed, so that all below it could be read.
    ///   - former: what the same read was judged by before: while it is in force still, nobody is asked.
    ///   - end: what became of the read, which is noted; nil where it has not begun, and for a change, which is noted at once.
    ///   - waits: returns when a descriptor can be read, or false when this command waits no longer: the question is ended then.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed`.
    public func judge(
        reading secret: String, changes: Bool = false, judgedBy former: String? = nil, end: ReadEnd? = nil,
        limit: Duration = .seconds(3600), _ waits: (_ answer: Int32) -> Bool = { _ in true }
    ) throws(ControlError) -> ReadVerdict {
        struct Parameters: Encodable {
            var secret: String
            var changesRecipients: Bool?
            var judgedBy: String?
            var end: ReadEnd?
        }
        return try call(
            ControlInterface.judgeRead,
            Parameters(secret: secret, changesRecipients: changes ? true : nil, judgedBy: former, end: end),
            limit: limit, returning: ReadVerdict.self, waits)
    }

    /// Has the mount show files with values until this process has ended, whatever it executes meanwhile.
    ///
    /// - Returns: their folder.
    /// - Throws: `noDaemon`; `timedOut`, `refused`, `failed` for a reference that leads nowhere.
    public func holdFiles(
        _ files: [HeldFileRequest], limit: Duration = .seconds(30)
    ) throws(ControlError) -> FilePath {
        let reply = try call(
            ControlInterface.holdFiles, ["files": files], limit: limit, returning: [String: String].self)
        guard let folder = reply["folder"] else {
            throw ControlError(.refused, "the daemon sent a reply that this passdir does not understand")
        }
        return FilePath(folder)
    }

    /// Brings stores and their remotes together; returns when that is done or has failed.
    ///
    /// - Parameters:
    ///   - stores: their names; none for all.
    ///   - choice: which history goes on where the two have parted; only with one store.
    ///   - limit: how long to wait; the daemon goes on after that.
    /// - Throws: `noDaemon`, `failed` for a name that no store has; `timedOut`, `refused`.
    public func synchronize(
        _ stores: [String], choosing choice: HistoryChoice? = nil, limit: Duration = .seconds(600)
    ) throws(ControlError) -> [SyncReport] {
        struct Parameters: Encodable {
            var stores: [String]?
            var choose: HistoryChoice?
        }
        return try call(
            ControlInterface.synchronize,
            Parameters(stores: stores.isEmpty ? nil : stores, choose: choice), limit: limit,
            returning: [String: [SyncReport]].self)["stores"] ?? []
    }

    private func call<Result: Decodable>(
        _ method: String, _ parameters: some Encodable, limit: Duration, returning: Result.Type,
        _ waits: (_ answer: Int32) -> Bool = { _ in true }
    ) throws(ControlError) -> Result {
        let deadline = ContinuousClock.now + limit
        let request = try VarlinkMessage.encode(VarlinkRequest(method: method, parameters: parameters))
        let connection = try ControlSocket.connect(to: socket, timeout: limit)
        defer { close(connection) }
        let reply = try exchange(request, over: connection, until: deadline, waits)
        if let failure = VarlinkMessage.decode(Failure.self, from: reply) { throw failure.error }
        guard let result = VarlinkMessage.decode(VarlinkParameters<Result>.self, from: reply) else {
            throw ControlError(
                .refused, "the daemon at \(socket) sent a reply that this passdir does not understand")
        }
        return result.parameters
    }

    private func exchange(
        _ request: [UInt8], over connection: Int32, until deadline: ContinuousClock.Instant,
        _ waits: (_ answer: Int32) -> Bool
    ) throws(ControlError) -> [UInt8] {
        var channel = MessageChannel(socket: connection, limit: Self.replyLimit)
        let received: MessageChannel.Received
        do throws(Errno) {
            let isSent = try channel.send(request, until: deadline)
            if isSent, !waits(connection) { shutdown(connection, Int32(SHUT_WR)) }
            received = isSent ? try channel.receive(until: deadline) : .timedOut
        } catch {
            throw ControlError(.failed, "lost the connection to the daemon: \(error)")
        }
        switch received {
        case .message(let message): return message
        case .timedOut: throw ControlError(.timedOut, "the daemon did not answer in time")
        case .end: throw ControlError(.failed, "the daemon closed the connection without replying")
        case .tooLong: throw ControlError(.refused, "the daemon's reply is too long")
        }
    }

    /// An error reply, with the parameters of all the errors we know.
    private struct Failure: Decodable {
        struct Parameters: Decodable {
            let message: String?
            let paths: [String]?
        }

        let error: ControlError

        private enum Key: CodingKey { case error, parameters }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let name = try container.decode(String.self, forKey: .error)
            let parameters = try container.decodeIfPresent(Parameters.self, forKey: .parameters)
            switch name {
            case ControlInterface.busy:
                error = ControlError(.busy, parameters?.message ?? "the mount is in use")
            case ControlInterface.unsaved:
                error = .unsaved(parameters?.paths ?? [])
            case ControlInterface.failed:
                error = ControlError(.failed, parameters?.message ?? "the daemon failed and gave no reason")
            default:
                error = ControlError(.refused, "the daemon rejected the call: \(name)")
            }
        }
    }
}
