public import Access
import CLinux
import Glibc
public import Sync
import System

/// What the daemon answers over its control socket. Called on plain threads, several at a time.
public protocol ControlService: Sendable {
    /// The mount and its stores as they are now; must not wait for git, gpg or the network.
    func status() -> StatusReport

    /// Ends the mount. Returns when it is unmounted and what waited is committed and, within the time that
    /// the daemon allows itself, pushed.
    ///
    /// - Parameter discardUnsaved: unmount although saves that failed are still in memory, and lose them.
    /// - Returns: what is not committed or not pushed, a sentence a store; empty when all is.
    /// - Throws: `busy` while files are open, `unsaved` with the paths of failed saves, else `failed`.
    func unmount(discardUnsaved: Bool) throws(ControlError) -> [String]

    /// Follows the configuration as it is now; returns when that is done.
    ///
    /// - Parameters:
    ///   - pushing: a store whose changes are saved, committed and pushed before, as far as that is possible soon.
    ///   - reopening: the id of a store whose folder was replaced.
    /// - Throws: `failed` with what is wrong in the configuration.
    func reload(pushing: String?, reopening: String?) throws(ControlError)

    /// Tries again what could not be saved; returns when that is done.
    func retrySaves()

    /// Gives up texts that could not be saved; returns when the mount shows what lies on disk.
    ///
    /// - Parameters:
    ///   - store: the name of the store.
    ///   - path: of one of them, as the mount shows it; nil for all of the store.
    /// - Returns: those that were given up.
    func discardUnsaved(store: String, path: String?) -> [String]

    /// Takes back the change of recipients that a save of a `.gpg-id` is making; returns when that is done, or the change is
    /// complete.
    ///
    /// - Parameter store: the name of the store.
    /// - Returns: nil where no save is making one, or it failed and could not be taken back.
    func abortSave(store: String) -> AbortedSave?

    /// Locks stores; returns when what was decrypted of them is forgotten.
    ///
    /// - Parameter stores: their names; nil for all.
    /// - Returns: what may not be forgotten, as a sentence without a full stop; nil when all is.
    /// - Throws: `failed` for a name that no store has.
    func lock(stores: [String]?) throws(ControlError) -> String?

    /// Unlocks stores; asks for nothing.
    ///
    /// - Parameter stores: their names; nil for all.
    /// - Throws: `failed` for a name that no store has.
    func unlock(stores: [String]?) throws(ControlError)

    /// The passphrases of stores were entered: what is told of prompts that failed is over. Locks stay.
    ///
    /// - Parameter stores: their names; nil for all.
    /// - Throws: `failed` for a name that no store has.
    func passphrasesEntered(stores: [String]?) throws(ControlError)

    /// Shows files with values until a process has ended.
    ///
    /// - Returns: their folder, absolute.
    /// - Throws: `failed` where one of them cannot be, with a sentence that names its reference.
    func holdFiles(_ files: [HeldFileRequest], for process: Int32) throws(ControlError) -> String

    /// The rules of who may read that are in force; returns when what was read so far is in the log.
    func access() -> AccessReport

    /// Judges a read of a secret by a process, as the mount does; waits while a person is asked, as long as the process does.
    ///
    /// - Parameters:
    ///   - secret: STORE/PATH, as the mount shows it.
    ///   - isChanged: whether it is a list of recipients that is to be changed, which is judged as a read of all below its folder.
    ///   - former: what it was judged by before; nil where it was not.
    ///   - end: what became of the read, which is noted; nil where it has not begun.
    func judge(
        _ secret: String, isChanged: Bool, judgedBy former: String?, end: ReadEnd?, for peer: ControlPeer
    ) -> ReadVerdict

    /// Brings stores and their remotes together: fetches, merges, pushes. Returns when all are done or have failed.
    ///
    /// - Parameters:
    ///   - stores: their names; nil for all.
    ///   - choice: which history goes on where the two have parted; only with exactly one store.
    /// - Throws: `failed` for a name that no store has.
    func synchronize(stores: [String]?, choosing choice: HistoryChoice?) throws(ControlError) -> [SyncReport]
}

extension ControlService {
    /// A service without stores has nothing to save.
    public func retrySaves() {}
    /// A service without stores has nothing to give up.
    public func discardUnsaved(store: String, path: String?) -> [String] { [] }
    /// A service without stores has nothing to take back.
    public func abortSave(store: String) -> AbortedSave? { nil }
    /// A service without stores has nothing to lock.
    public func lock(stores: [String]?) throws(ControlError) -> String? { nil }
    /// A service without stores has nothing to unlock.
    public func unlock(stores: [String]?) throws(ControlError) {}
    /// A service without stores tells of no prompts.
    public func passphrasesEntered(stores: [String]?) throws(ControlError) {}

    /// A service without stores has no values.
    public func holdFiles(_ files: [HeldFileRequest], for process: Int32) throws(ControlError) -> String {
        throw ControlError(.failed, "no store is mounted")
    }

    /// A service without stores has no rules.
    public func access() -> AccessReport {
        AccessReport(rules: [], locked: [], isLogging: false, problem: nil)
    }
    /// A service without stores has no rules.
    public func judge(
        _ secret: String, isChanged: Bool, judgedBy former: String?, end: ReadEnd?, for peer: ControlPeer
    ) -> ReadVerdict { ReadVerdict(isAllowed: true) }
    /// A service without stores has nothing to do.
    public func synchronize(
        stores: [String]?, choosing choice: HistoryChoice?
    ) throws(ControlError) -> [SyncReport] { [] }
}

/// What became of the read of a command.
public struct ReadVerdict: Codable, Sendable {
    /// Whether the rules, and whoever was asked, let whoever started the command read.
    public var isAllowed: Bool
    /// Whether the store is locked; nil where that was not looked at.
    public var isLocked: Bool?
    /// The rules that say so; nil where there are none.
    public var judgedBy: String?

    /// A verdict by its parts.
    public init(isAllowed: Bool, isLocked: Bool? = nil, judgedBy: String? = nil) {
        (self.isAllowed, self.isLocked, self.judgedBy) = (isAllowed, isLocked, judgedBy)
    }
}

/// A file that is to show a value.
public struct HeldFileRequest: Codable, Sendable {
    /// What it is called.
    public var name: String
    /// As in a template, and nothing else.
    public var reference: String

    /// A file by its parts.
    public init(name: String, reference: String) { (self.name, self.reference) = (name, reference) }
}

/// Who calls over the control socket.
public struct ControlPeer: Sendable {
    /// Its process; 0 where it cannot be seen from here.
    public var process: Int32 = 0
    /// The connection; -1 where there is none that could end.
    var connection: Int32 = -1

    /// Waits until a descriptor can be read.
    /// - Returns: false when the caller waits no longer: it has closed the connection, or its half of it.
    func waits(for descriptor: Int32) -> Bool {
        var entries = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: connection, events: Int16(PASSDIR_POLLRDHUP), revents: 0),
        ]
        _ = try? Poll.wait(for: &entries, until: nil)
        return entries[0].revents != 0
    }
}
