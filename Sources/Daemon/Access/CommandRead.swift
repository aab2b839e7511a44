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

    /// Runs what decrypts secrets of a store, for whoever started this command: judged before, which waits while a person is
    /// asked, and once more behind it, as `decrypt` may have waited for a passphrase: rules that were set meanwhile count, and so
    /// does a lock. What became of it is noted then.
    ///
    /// - Parameter paths: the names by which it is judged, as the mount shows them; asked for each time.
    /// - Throws: one sentence where it may not be shown, or nothing can be said; what `decrypt` throws.
    static func judged<Value>(
        _ paths: () throws -> [FilePath], ofStore store: String, environment: [String: String],
        _ decrypt: () throws -> Value
    ) throws -> Value {
        try checkUnlocked(store, environment: environment)
        var judgedBy: [FilePath: String] = [:]
        for path in try paths() {
            judgedBy[path] = try judge(path, ofStore: store, environment: environment)
        }
        let value: Value
        do {
            value = try decrypt()
        } catch {
            for (path, rules) in judgedBy {
                _ = try? verdict(
                    on: "\(store)/\(path)", judgedBy: rules, end: .failed, environment: environment)
            }
            throw error
        }
        let paths = try paths()
        // Where there are names, it is told with what is judged.
        if paths.isEmpty { try checkUnlocked(store, environment: environment) }
        for path in paths {
            let verdict = try verdict(
                on: "\(store)/\(path)", judgedBy: judgedBy[path], end: .read, environment: environment)
            if verdict.isLocked == true { throw DaemonError(message: lockedSentence(store)) }
            guard verdict.isAllowed else { throw refusal(of: "\(store)/\(path)") }
        }
        return value
    }

    /// Judges that whoever started this command may be shown a secret of a store that is not locked; a read that takes place is to be
    /// judged of its own. Waits while a person is asked.
    ///
    /// - Parameter path: as the mount shows it.
    /// - Throws: one sentence where it may not, or nothing can be said.
    static func check(_ path: FilePath, ofStore store: String, environment: [String: String]) throws {
        try checkUnlocked(store, environment: environment)
        _ = try judge(path, ofStore: store, environment: environment)
    }

    private static func checkUnlocked(_ store: String, environment: [String: String]) throws(DaemonError) {
        guard let objection = lockObjection(ofStore: store, environment: environment) else { return }
        throw DaemonError(message: objection)
    }

    /// - Returns: what it was judged by.
    private static func judge(
        _ path: FilePath, ofStore store: String, environment: [String: String]
    ) throws -> String? {
        let verdict = try verdict(on: "\(store)/\(path)", environment: environment)
        guard verdict.isAllowed else { throw refusal(of: "\(store)/\(path)") }
        return verdict.judgedBy
    }

    private static func refusal(of secret: String) -> DaemonError {
        DaemonError(
            message:
                "the access rules refuse reading \(secret): passdir access log \(ShellWord.quoted(secret)) says why"
        )
    }

    /// Judges that whoever started this command may change whom a folder is encrypted to: they must be one who may read all that
    /// lies below. Waits while a person is asked.
    ///
    /// - Parameters:
    ///   - folder: as the mount shows it; empty for the store.
    ///   - former: what the same change was judged by before.
    /// - Returns: what it was judged by.
    /// - Throws: one sentence where it may not, or nothing can be said.
    @discardableResult
    static func checkMayChangeRecipients(
        of folder: FilePath, ofStore store: String, judgedBy former: String? = nil,
        environment: [String: String]
    ) throws(DaemonError) -> String? {
        let place = folder.isEmpty ? store : "\(store)/\(folder)"
        let verdict = try DaemonError.wrapping {
            try Self.verdict(
                on: "\(place)/\(Store.recipientFileName)", changes: true, judgedBy: former,
                environment: environment)
        }
        guard !verdict.isAllowed else { return verdict.judgedBy }
        throw DaemonError(
            message:
                "the access rules refuse changing who can read \(place): passdir access log \(ShellWord.quoted(place)) says why"
        )
    }

    /// That a store is locked, as a sentence without a full stop; nil where it is not.
    static func lockObjection(ofStore store: String, environment: [String: String]) -> String? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        guard let locked = try? client.access().locked, locked.contains(store) else { return nil }
        return lockedSentence(store)
    }

    private static func lockedSentence(_ store: String) -> String {
        "\(store) is locked; passdir unlock \(ShellWord.quoted(store))"
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

    /// Whether a signal is to end this command, so that nobody is asked any more. One thread waits for a person at a time, as the
    /// signals of a process can be held once.
    private static let isEnding = Mutex(false)

    /// Whether who started this command may be shown a secret, or change a list of recipients; waits while a person is asked.
    /// Without a daemon the configuration's rules are asked, and no answer to an earlier command counts. A signal that ends this
    /// command first ends the question, which would go on taking keys in the terminal.
    ///
    /// - Parameters:
    ///   - secret: STORE/PATH, as the mount shows it.
    ///   - changes: whether it is a list of recipients, and is changed.
    ///   - former: what the same read was judged by before.
    ///   - end: what became of the read, which is noted; nil where it has not begun, and for a change, which is noted at once.
    /// - Throws: why nothing can be said.
    private static func verdict(
        on secret: String, changes: Bool = false, judgedBy former: String? = nil, end: ReadEnd? = nil,
        environment: [String: String]
    ) throws -> ReadVerdict {
        try isEnding.withLock { isEnding in
            let ended = DaemonError(message: "a signal ended the wait for an answer")
            guard !isEnding else { throw ended }
            let signals = try HeldSignals(TerminationSignals.caught)
            var signal: CInt?
            let verdict = Result {
                try Self.verdict(on: secret, changes, former, end, environment) { answer in
                    signal = try? signals.wait(for: answer)
                    return signal == nil
                }
            }
            isEnding = signal != nil
            // Where nobody catches it, this process ends here.
            signals.end(with: signal)
            guard !isEnding else { throw ended }
            return try verdict.get()
        }
    }

    private static func verdict(
        on secret: String, _ changes: Bool, _ former: String?, _ end: ReadEnd?,
        _ environment: [String: String],
        _ waits: (_ answer: CInt) -> Bool
    ) throws -> ReadVerdict {
        do throws(ControlError) {
            return try ControlClient(socket: Daemon.controlSocket(environment: environment))
                .judge(reading: secret, changes: changes, judgedBy: former, end: end, waits)
        } catch {
            guard error.code == .noDaemon else { throw error }
        }
        let options = try AccessOptions(Daemon.configuration(environment))
        let gate = ownGate(environment: environment)
        gate.use(options)
        // The command may end right behind this.
        defer { gate.writeWholeLog() }
        return gate.verdict(on: secret, isChanged: changes, by: own, judgedBy: former, end: end, waits)
    }
}

extension AccessGate {
    /// Judges a read, or the change of a list, for whoever started a command, where other rules than before are in force; waits
    /// while a person is asked, as long as `waits` says.
    func verdict(
        on secret: String, isChanged: Bool, by command: Int32, judgedBy former: String?, end: ReadEnd?,
        _ waits: (_ answer: CInt) -> Bool
    ) -> ReadVerdict {
        let process = CommandRead.reader(of: command)
        let inForce = inForce
        if let former, former.hasPrefix(inForce.id) {
            let isKnown = ReadVerdict(isAllowed: true, judgedBy: former)
            guard !isChanged, let end else { return isKnown }
            let isLet = note(
                process, through: command, reading: judgedPlace(of: secret, reader: process), by: inForce,
                isAgreed: former.hasSuffix(ReadVerdict.agreedMark), end)
            if isLet { return isKnown }
        }
        // Why it was let nobody knows any more, and nothing was read.
        if end == .failed { return ReadVerdict(isAllowed: false) }
        let note =
            isChanged
            ? judgeAndWait(process, through: command, changing: secret, waits)
            : judgeAndWait(
                process, through: command, reading: judgedPlace(of: secret, reader: process), waits)
        if isChanged { note?.read() } else if let end { note?.ended(end) }
        return ReadVerdict(note)
    }
}

extension ReadVerdict {
    /// - Parameter note: of the read; nil where it is refused.
    init(_ note: ReadNote?) {
        let mark = note?.wasAsked == true ? Self.agreedMark : ""
        self.init(isAllowed: note != nil, judgedBy: (note?.inForce?.id).map { $0 + mark })
    }

    /// Behind the rules where a person has agreed to this very read.
    static let agreedMark = "+"
}

extension Daemon {
    /// The file in which it is noted who reads.
    public static func accessLog(environment: [String: String]) -> FilePath {
        Directories(environment: environment).state.appending(AccessLog.fileName)
    }
}
