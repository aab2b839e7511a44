import Git
import Glibc
import OpenPGP
public import Settings
import System
import SystemPackage

/// The daemon that may be serving the stores, as far as their administration needs it. Every call returns when it is
/// done, and does nothing when no daemon runs.
public protocol ServingDaemon: Sendable {
    /// Follows the configuration as it is now.
    func reload()
    /// Saves, commits and pushes what waits in a store, as far as that is possible in a short while.
    func saveAndPush(store: String)
    /// The secrets of a store whose saving failed, and which are in its memory only: their paths.
    func unsaved(store: String) -> [String]
    /// Gives up what could not be saved of a store.
    func discardUnsaved(store: String)
    /// The secrets of a store that a program has open and may still write to: their paths.
    func openForWriting(store: String) -> [String]
    /// The folder of a store is about to be replaced, or was: what is open of it is let go.
    func reopen(store: String)
}

/// Adds, replaces and removes stores: the folder, the configuration, the credentials and what was learned together.
///
/// Each operation is undone when a step of it fails, and noted in a journal, so that the next start finishes it or
/// takes it back when the process is killed: `recover()`.
public struct StoreAdministration: Sendable {
    /// The stores.
    public let registry: Registry
    /// Where credentials are kept.
    public let credentials: any CredentialStore
    let daemon: (any ServingDaemon)?
    let environment: [String: String]
    private let tellWaiting: @Sendable (String) -> Void

    /// An administration over a registry.
    /// - Parameter tellWaiting: told, in a sentence, of another process that is waited for.
    public init(
        registry: Registry, environment: [String: String], credentials: any CredentialStore,
        daemon: (any ServingDaemon)?, tellWaiting: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.tellWaiting = tellWaiting
        self.registry = registry
        self.environment = environment
        self.credentials = credentials
        self.daemon = daemon
    }

    /// What a clone turned out to be.
    public struct CloneReport: Sendable, Equatable {
        /// The store's id.
        public var id: String
        /// How many secrets it has.
        public var secrets: Int
        /// What the user ought to know; each a sentence.
        public var warnings: [String]
    }

    func openJournal(patience: Duration = .seconds(10)) throws(LifecycleError) -> OperationJournal {
        var moved: [PutAway] = []
        return try openJournal(patience: patience, &moved)
    }

    private func openJournal(
        patience: Duration, _ moved: inout [PutAway]
    ) throws(LifecycleError) -> OperationJournal {
        let journal = try OperationJournal(
            environment: environment, patience: patience, tellWaiting: tellWaiting)
        // One on a disk that does not answer waits for another start, and keeps nobody.
        for operation in journal.left where DiskLook.at(operation.folder).answers {
            if let away = try finish(operation, journal), away.place != nil { moved.append(away) }
        }
        return journal
    }

    /// Finishes or takes back what killed processes left half done. Called at every start; does nothing while another
    /// process is at work.
    /// - Returns: the folders that were moved instead of removed.
    @discardableResult
    public func recover() throws(LifecycleError) -> [PutAway] {
        let folder = OperationJournal.folder(environment: environment)
        guard PrivateFile.names(in: folder).contains(where: { $0 != "lock" }) else { return [] }
        do throws(LifecycleError) {
            var moved: [PutAway] = []
            _ = try openJournal(patience: .zero, &moved)
            return moved
        } catch  where error.code == .busy {
            return []
        }
    }

    private func finish(_ operation: StoreOperation, _ journal: borrowing OperationJournal)
        throws(LifecycleError) -> PutAway?
    {
        var away: PutAway?
        switch operation.kind {
        case .add: try finishAdd(operation)
        case .reclone: away = try finishReclone(operation, journal, mayAsk: false)
        case .remove: away = try finishRemove(operation, journal, mayAsk: false)
        }
        journal.remove(operation)
        return away
    }

    /// The section with an id; nil when there is none.
    func section(withID id: String) throws(LifecycleError) -> StoreSection? {
        return try LifecycleError.wrapping {
            try registry.configuration.reload()
            return try registry.configuration.stores().first { $0.text("id")?.value.lowercased() == id }
        }
    }

    /// Gives every store that was written by hand, or by an older passdir, its id, and files what was learned of it
    /// under that.
    public func giveIdentities() throws(SettingsError) {
        let given = try registry.giveIdentities()
        guard !given.isEmpty else { return }
        changeLearned { learned in for (old, new) in given { learned.rename(store: old, to: new) } }
    }

    /// Drops what was learned of a store.
    func forgetLearned(_ id: String) {
        changeLearned { $0.forget(store: id) }
    }

    private func changeLearned(_ change: (LearnedState) -> Void) {
        let file = Directories(environment: environment).state.appending("state.sqlite")
        guard file.exists, let learned = try? LearnedState(file: file) else { return }
        change(learned)
        learned.close()
    }

    /// Forgets whom the user agreed to encrypt to in a store that is removed.
    func forgetAgreement(_ id: String, _ folder: FilePath) {
        // What stays of it is of a store that nobody has any more.
        try? RecipientRecord(environment: environment).forget([id, "path:\(folder)"])
    }

    /// Looks at a folder that becomes a store: how many secrets it holds, and as sentences why the user could not read
    /// them or save any. Asks for no passphrase.
    /// - Parameters:
    ///   - name: the store's.
    ///   - keyring: the GnuPG home of the store; nil is that of GNUPGHOME.
    public func inspect(
        _ folder: FilePath, name: String, keyring: FilePath?
    ) -> (secrets: Int, warnings: [String]) {
        var warnings: [String] = []
        let names = NameWalk.secrets(in: folder)
        let hasList = folder.appending(Store.recipientFileName).exists
        if !hasList {
            warnings.append(
                "there is no .gpg-id, so nothing can be saved: passdir recipients set \(ShellWord.quoted(name)) KEY "
                    + "writes one")
        }
        if !names.isEmpty, let sentence = unreadable(names, in: folder, keyring: keyring) {
            warnings.append(sentence)
        } else if hasList, let sentence = unnamed(in: folder, keyring: keyring) {
            warnings.append(sentence)
        }
        return (names.count, warnings)
    }

    /// Why no key of the user's would read what is saved at the top of a folder; nil where one would.
    private func unnamed(in folder: FilePath, keyring: FilePath?) -> String? {
        let engine = OpenPGPEngine(home: keyring)
        guard (try? engine.prepare()) != nil, let root = try? Root(path: folder),
            let file = try? root.open(
                FilePath(root: nil, components: Store.recipientFileName), flags: O_RDONLY | O_NONBLOCK),
            let bytes = try? file.read(at: 0, count: 1 << 20), let list = RecipientFile(parsing: bytes)
        else { return nil }
        let now = Int64(time(nil))
        var objection: String?
        var renewal: String?
        for line in list.lines.prefix(Packets.maximalRecipients) {
            let recipients: [Recipient]
            do throws(OpenPGPError) { recipients = try engine.resolve(line) } catch
                where error.code == .timedOut
            {
                // Whose key it is was not found out.
                return nil
            } catch { continue }
            for recipient in recipients where recipient.isOwn {
                guard let problem = recipient.objection(at: now) else { return nil }
                objection = objection ?? problem.message
                if problem.code == .expiredKey, renewal == nil {
                    renewal = recipient.key.renewal(in: engine.home)
                }
            }
        }
        if let objection, let renewal { return "\(objection), so nothing can be saved: \(renewal) renews it" }
        return
            (objection.map { "\($0), and .gpg-id names no other key of yours" }
            ?? "its .gpg-id names none of your secret keys")
            + ", so you could not read what is saved: ask someone who has the store to add your key"
    }

    /// Whether there is a secret key for a secret: told by its packets, so that nobody is asked for a passphrase.
    private func unreadable(_ names: [String], in folder: FilePath, keyring: FilePath?) -> String? {
        let engine = OpenPGPEngine(home: keyring)
        guard let own = try? engine.keys(matching: [], secretOnly: true),
            let first = names.first, let root = try? Root(path: folder),
            let bytes = try? PrivateFile.read(
                folder.pushing(VisibleName.backingPath(of: FilePath(first), in: root)), limit: 64 << 20)
        else { return nil }
        let ids = Packets.recipientKeyIDs(in: bytes)
        let ours = Set(own.flatMap { $0.subkeys.filter(\.hasSecret).map(\.keyID) })
        // A hidden recipient (id 0) may be us.
        guard !ids.isEmpty, !ids.contains(0), ours.isDisjoint(with: ids) else { return nil }
        return "none of your keys decrypts its secrets: ask someone who has the store to add your key"
    }
}
