import Glibc
public import OpenPGP
import Synchronization
public import SystemPackage

/// A change of recipients while it is made: secrets are re-encrypted in the staging folder, then all are put in
/// place, then `.gpg-id`, then one commit is made.
///
/// The old `.gpg-id` is in force, and nothing outside the staging folder is touched, until everything is staged.
/// Killed at any moment, it can be finished (`resume`) or taken back (`abort`). Other programs go on reading and
/// saving: a secret that changed meanwhile is re-encrypted once more.
public final class Reencryption: Sendable {
    /// How far it is.
    public struct Progress: Sendable, Equatable, Codable {
        /// What is being done.
        public enum Step: String, Sendable, Codable {
            /// Secrets are re-encrypted.
            case encrypting
            /// They are put in place.
            case placing
            /// They are committed.
            case committing
        }
        /// What is being done.
        public var step: Step
        /// How many secrets that is done for.
        public var done: Int
        /// How many there are.
        public var total: Int

        /// So many of so many.
        public init(step: Step, done: Int, total: Int) {
            self.step = step
            self.done = done
            self.total = total
        }
    }

    /// Makes one commit of files of the store: paths and what it says.
    public typealias Commit = ([FilePath], String) throws(StoreError) -> Void

    let store: Store
    let notes: ChangeNotes
    let staging: StagingFolder
    let state: Mutex<State>

    struct State: Sendable {
        var journal: ChangeJournal
        var staged: [Int: StagedName]
        /// Secrets that could not be decrypted, with the reason.
        var unreadable: [FilePath: StoreError] = [:]
        /// Secrets that git brought since the change was planned, which are not encrypted to keys that only it adds.
        var left: Set<FilePath> = []
        /// What stops the change.
        var failure: StoreError?
        var done = 0
    }

    var journal: ChangeJournal { state.withLock { $0.journal } }
    let brought: BroughtSecrets

    private init(
        store: Store, notes: ChangeNotes, staging: StagingFolder, journal: ChangeJournal,
        staged: [Int: StagedName] = [:]
    ) {
        self.store = store
        self.notes = notes
        self.staging = staging
        brought = BroughtSecrets(store)
        state = Mutex(State(journal: journal, staged: staged))
    }

    /// Begins a change of a folder's recipients: from here on it can be resumed or aborted.
    ///
    /// - Parameters:
    ///   - accepting: The keys that the user agrees to with this change, by their fingerprints.
    ///   - skipsUnreadable: Leave secrets alone that cannot be decrypted here; else they stop the change before anything
    ///     is put in place.
    /// - Throws: `unconfirmedRecipients`, `unreadableSecrets`, `changeUnderWay`, and what signing says.
    public static func begin(
        _ change: RecipientChange, in store: Store, accepting: Set<Fingerprint>, skipsUnreadable: Bool,
        cancellation: Cancellation? = nil
    ) throws(StoreError) -> Reencryption {
        let place = change.folder.appending(Store.recipientFileName)
        try check(change, in: store, accepting: accepting, skipsUnreadable: skipsUnreadable)
        let signature = try store.sign(change.file.bytes, cancellation: cancellation)
        // Signing may have waited for a passphrase.
        try store.checkCurrent(change.basis, of: change.folder)
        let list = change.basis.list
        let old = list.file == place ? list.bytes : nil
        let oldSignature = try store.readIfPresent(change.folder.appending(Store.signatureFileName))
        let names = change.file.lines.joined(separator: ", ")
        let where_ = change.folder.isEmpty ? "" : " (\(change.folder.string))"
        let skipped = Set(change.unreadable)
        let secrets = change.secrets.filter { !skipped.contains($0) }
        let journal = ChangeJournal(
            store: store.identifier, phase: .staging, folder: change.folder, applied: list.file,
            message: "Reencrypt password store using new GPG id \(names)\(where_).\n",
            skipsUnreadable: skipsUnreadable,
            accepted: change.unagreed.map(\.recipient.key.fingerprint.description),
            planned: secrets.map { PlannedSecret(path: $0, content: change.basis.contents[$0]) })
        return try begin(
            journal, in: store,
            [
                (ChangeJournal.newFile, change.file.bytes), (ChangeJournal.oldFile, old),
                (ChangeJournal.appliedFile, old == nil ? list.bytes : nil),
                (ChangeJournal.newSignature, signature), (ChangeJournal.oldSignature, oldSignature),
                (AddedReaders.name, try AddedReaders(adding: change.added, in: store).bytes),
                (
                    FormerReaders.name,
                    FormerReaders(of: secrets.map { ($0, change.after) }, in: store).bytes
                ),
            ])
    }

    /// What `begin` refuses by what is known before it.
    /// - Parameter accepting: nil: the user is still to be asked.
    /// - Throws: `unconfirmedRecipients`, `unreadableSecrets`.
    public static func check(
        _ change: RecipientChange, in store: Store, accepting: Set<Fingerprint>?, skipsUnreadable: Bool
    ) throws(StoreError) {
        let place = change.folder.appending(Store.recipientFileName)
        if let accepting,
            let other = change.unagreed.first(where: { !accepting.contains($0.recipient.key.fingerprint) })
        {
            throw store.unconfirmed(other.recipient, in: place)
        }
        if !change.unreadable.isEmpty, !skipsUnreadable { throw .unreadable(change.unreadable) }
    }

    /// Begins to encrypt secrets anew to whom their `.gpg-id` files name (`recipients check --fix`).
    public static func begin(
        following differing: [DifferingSecret], in store: Store, skipsUnreadable: Bool
    ) throws(StoreError) -> Reencryption {
        let unreadable = try store.unreadable(differing.map(\.secret))
        if !unreadable.isEmpty, !skipsUnreadable { throw .unreadable(unreadable) }
        let skipped = Set(unreadable)
        let planned = differing.filter { !skipped.contains($0.secret) }
        let journal = ChangeJournal(
            store: store.identifier, phase: .staging, folder: nil, applied: nil,
            message: "Reencrypt password store to the recipients of its .gpg-id files.\n",
            skipsUnreadable: skipsUnreadable, accepted: [],
            planned: planned.map {
                PlannedSecret(
                    path: $0.secret, content: $0.content,
                    readers: $0.readers.map(\.key.fingerprint.description))
            })
        let former = FormerReaders(of: planned.map { ($0.secret, $0.readers) }, in: store)
        return try begin(journal, in: store, [(FormerReaders.name, former.bytes)])
    }

    /// The journal comes last of the notes, the folder in the store after it: what lies there without a journal is
    /// nothing of ours.
    private static func begin(
        _ journal: ChangeJournal, in store: Store, _ files: [(name: String, bytes: [UInt8]?)]
    ) throws(StoreError) -> Reencryption {
        let notes = try ChangeNotes.make(for: store)
        do throws(StoreError) {
            try StagingFolder.checkFree(in: store.root, of: store.name)
            for file in files { if let bytes = file.bytes { try notes.write(bytes, as: file.name) } }
            try notes.write(journal.bytes, as: ChangeJournal.name)
            let staging = try StagingFolder.make(in: store.root)
            FaultPoint.mayDie("recipients.planned")
            return Reencryption(store: store, notes: notes, staging: staging, journal: journal)
        } catch {
            notes.remove()
            throw error
        }
    }

    /// Takes up a change that was interrupted; nil when there is none.
    /// - Throws: `noChange` where the store holds what looks like one and this machine knows nothing of it.
    public static func interrupted(in store: Store) throws(StoreError) -> Reencryption? {
        guard let notes = try ChangeNotes.open(for: store), let journal = try notes.readJournal(of: store)
        else {
            // Without a journal a change has not begun, or is over.
            if StagingFolder.exists(in: store.root) { throw StagingFolder.foreign(store.name) }
            return nil
        }
        let staging = try StagingFolder.make(in: store.root)
        let staged = try staging.staged(noted: try notes.noted())
        return Reencryption(store: store, notes: notes, staging: staging, journal: journal, staged: staged)
    }

    /// Does the rest of the change. When it throws before the first secret is put in place, nothing has changed; it
    /// can be run again or aborted.
    ///
    /// - Parameters:
    ///   - threads: How many secrets are encrypted at a time.
    ///   - cancellation: Stops the encryption, not the rest, which is short.
    ///   - mayPlace: Throws where nothing is to be put in place any more; asked when all is encrypted, which may have waited for
    ///     people.
    /// - Returns: Secrets that were left alone because they cannot be decrypted.
    @discardableResult
    public func run(
        threads: Int = 4, cancellation: Cancellation? = nil,
        progress: @escaping @Sendable (Progress) -> Void = { _ in },
        mayPlace: () throws(StoreError) -> Void = {}, commit: Commit
    ) throws(StoreError) -> [FilePath] {
        if journal.phase == .aborting { throw beingTakenBack }
        // What git did to the files since an interruption is done again.
        if [.placing, .committing].contains(journal.phase) { try resumePlacing() }
        if journal.phase == .staging {
            try stageAll(threads: threads, cancellation: cancellation, progress)
            try mayPlace()
            try enter(.placing)
        }
        if journal.phase == .placing {
            try placeAll(progress)
            try enter(.committing)
        }
        if journal.phase == .committing {
            FaultPoint.mayDie("recipients.placed")
            progress(Progress(step: .committing, done: 0, total: journal.planned.count))
            try commit(changedPaths, journal.message)
            if let folder = journal.folder, let recipients = (try? newRecipients()) ?? nil {
                // The change is made; a record that lags only makes `status` ask once more.
                let fingerprints = recipients.map(\.key.fingerprint.description)
                let place = folder.appending(Store.recipientFileName)
                try? store.agree(to: fingerprints, in: place)
                try? store.forgetAwaitedNames(of: place)
                try? store.supersede(place, for: store.secrets(below: folder, nested: false))
            }
            try enter(.finished)
        }
        try end()
        return state.withLock { $0.unreadable.keys.sorted { $0.string < $1.string } }
    }

    /// How far it has come, for who has to say what is to be done about a failure.
    public enum Progressed: Sendable {
        /// Nothing was encrypted for it yet.
        case nothing
        /// It can go on where it stopped.
        case resumable
        /// It is being taken back.
        case aborting
    }

    /// How far it has come.
    public var progressed: Progressed {
        state.withLock { state in
            switch state.journal.phase {
            case .aborting: .aborting
            case .staging where state.staged.isEmpty: .nothing
            default: .resumable
            }
        }
    }

    /// Secrets that came from others after the change was planned, by path or in place of what was planned, and are as
    /// they came. To be asked for when it has run.
    public var leftAlone: [FilePath] {
        state.withLock { $0.left.sorted { $0.string < $1.string } }
    }

    /// What the commit is made of.
    public var changedPaths: [FilePath] {
        let journal = journal
        let secrets = journal.secrets.filter { secret in
            !state.withLock { $0.unreadable.keys.contains(secret) || $0.left.contains(secret) }
        }
        guard let folder = journal.folder else { return secrets }
        var paths = secrets + [folder.appending(Store.recipientFileName)]
        let signature = folder.appending(Store.signatureFileName)
        if (try? store.readIfPresent(signature)) ?? nil != nil { paths.append(signature) }
        return paths
    }

    /// The change is over: nothing of it is left, the notes go last.
    func end() throws(StoreError) {
        try staging.remove()
        notes.remove()
    }

    func enter(_ phase: ChangeJournal.Phase) throws(StoreError) {
        let next = state.withLock { state in
            state.journal.phase = phase
            return state.journal
        }
        try notes.write(next.bytes, as: ChangeJournal.name)
    }
}

extension StoreError {
    /// "Secrets cannot be decrypted", with their names.
    static func unreadable(_ secrets: [FilePath]) -> StoreError {
        let names = secrets.prefix(3).map(\.string).joined(separator: ", ")
        let more = secrets.count > 3 ? " and \(secrets.count - 3) more" : ""
        return StoreError(
            .unreadableSecrets(secrets),
            "no secret key here decrypts \(names)\(more), so they cannot be re-encrypted: nothing was changed; "
                + "--skip-unreadable leaves them as they are.")
    }
}
