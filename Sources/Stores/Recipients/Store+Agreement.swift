public import OpenPGP
import System
public import SystemPackage

extension Store {
    /// What the record files the store under: its identifier, and the one from before it had an id.
    var recordNames: [String] {
        let older = "path:\(root.path)"
        return identifier == older ? [identifier] : [identifier, older]
    }

    var agreement: RecipientRecord.Agreement {
        endLeftMoves()
        return options.record?.agreement(of: recordNames) ?? .never
    }

    /// Notes what the `.gpg-id` files say now as agreed to, where nothing was ever noted of this store: before that,
    /// nothing can have been added behind anybody's back. Names that mean no key then are agreed to once they do
    /// (`AwaitedNames`).
    public func recordRecipientsAtFirstSight() throws(StoreError) {
        guard options.record != nil else { return }
        guard agreement == .never else { return recordAwaitedNames() }
        do {
            let entries = try snapshot().entries
            // Another process may have come first.
            try updateRecord { old in old.contains { $0.kind == .agreed } ? old : entries }
        } catch {
            // Where nothing has to be agreed to, the record only tells of changes.
            if mustConfirm(FilePath(root: nil, [Self.recipientFileName])) { throw error }
        }
    }

    /// Why it is not known whom you agreed to, as a sentence; nil where it is.
    public var lostAgreement: String? {
        guard case .lost(let reason) = agreement else { return nil }
        return
            "your approval of the recipients of the store \"\(name)\" is lost, because \(reason): look at "
            + "passdir recipients show \(ShellWord.quoted(name)), then run passdir recipients confirm "
            + "\(ShellWord.quoted(name))."
    }

    /// Agrees to what was looked at, in all files.
    public func agree(to snapshot: RecipientSnapshot) throws(StoreError) {
        try updateRecord { _ in snapshot.entries }
    }

    /// Agrees to these keys, and no others, in one file; others that changed still wait to be confirmed.
    func agree(to fingerprints: [String], in file: FilePath) throws(StoreError) {
        let id = identifier
        if case .never = agreement { return try agree(to: snapshot()) }
        try updateRecord { entries in
            entries.compactMap { entry in
                var entry = entry
                entry.store = id
                if entry.kind == .offered { entry.fingerprints.removeAll { fingerprints.contains($0) } }
                let isReplaced = entry.kind == .agreed && entry.file == file
                return isReplaced || entry.kind == .offered && entry.fingerprints.isEmpty ? nil : entry
            } + [RecordContent.Entry(store: id, file: file, fingerprints: fingerprints)]
        }
    }

    /// Agrees to these keys, too, in a file that is about to name them.
    func agree(toAlso recipients: [Recipient], in file: FilePath) throws(StoreError) {
        let new = recipients.map(\.key.fingerprint.description)
        let old = agreed.map { Self.agreed(file, $0) } ?? []
        try agree(to: old + new.filter { !old.contains($0) }, in: file)
    }

    /// Agrees to a change that leaves the file as it is: to the keys that it names, and to whom others took out of it.
    public func accept(
        _ change: RecipientChange, in file: FilePath, _ asked: Set<Fingerprint>
    ) throws(StoreError) {
        try accept(change.unagreed.map(\.recipient), in: file, asked)
        if change.isLossUnagreed { try agree(to: change.after.map(\.key.fingerprint.description), in: file) }
    }

    /// Agrees to keys of a file, all of which must be among those that the user was asked about.
    public func accept(
        _ recipients: [Recipient], in file: FilePath, _ asked: Set<Fingerprint>
    ) throws(StoreError) {
        if let other = recipients.first(where: { !asked.contains($0.key.fingerprint) }) {
            throw unconfirmed(other, in: file)
        }
        try agree(toAlso: recipients, in: file)
    }

    /// Takes back what was agreed to for a change that is not made.
    func withdraw(_ keys: Set<Fingerprint>, in file: FilePath) throws(StoreError) {
        guard !keys.isEmpty, let agreed else { return }
        let kept = Self.agreed(file, agreed).filter { digits in !keys.contains { $0.description == digits } }
        try agree(to: kept, in: file)
    }

    /// Remembers what a look at the lists has found: keys that others brought into a `.gpg-id`, as whoever saves the file
    /// must not agree to them in passing, even when it no longer has them then; and the names that mean keys which are
    /// agreed to. Where nothing was ever agreed there is nobody to be told apart.
    public func note(_ snapshot: RecipientSnapshot) {
        guard let record = options.record, case .known = agreement else { return }
        let id = identifier
        let offered = record.offered(to: recordNames)
        var new = snapshot.changes.flatMap { change in
            change.added.filter { !offered.contains($0) }.map {
                RecordContent.Entry(kind: .offered, store: id, file: change.file, fingerprints: [$0])
            }
        }
        let names = agreedNames
        let settled = snapshot.settledNames.filter { entry in
            let known = names.first { $0.file == entry.file }?.fingerprints ?? []
            return known != entry.fingerprints
        }
        new += settled.filter { !$0.fingerprints.isEmpty }
        guard !new.isEmpty || !settled.isEmpty else { return }
        let files = Set(settled.map(\.file))
        // A record that lags makes one question less, or tells of a name once more; nothing else.
        let entries = new
        try? updateRecord { old in
            old.filter { $0.kind != .named || !files.contains($0.file) } + entries
        }
    }

    /// Whether a key lies in a `.gpg-id` by somebody else's doing: it was brought by a merge.
    func isOffered(_ recipient: Recipient) -> Bool {
        options.record?.offered(to: recordNames).contains(recipient.key.fingerprint.description) ?? false
    }

    func updateRecord(
        _ change: ([RecordContent.Entry]) -> [RecordContent.Entry]
    ) throws(StoreError) {
        guard let record = options.record else { return }
        do {
            try record.update(recordNames, change)
        } catch {
            throw StoreError(.system(error), "cannot record the recipients: \(error).")
        }
    }

    /// The `.gpg-id` for which you agreed to a secret's readers: the one that applies now, or one nearer to the secret
    /// that applied then and is gone, so that another list has taken its place.
    public func agreedFile(for secret: FilePath, now file: FilePath) -> FilePath {
        guard let agreed else { return file }
        let end = file.removingLastComponent()
        var folder = secret.removingLastComponent()
        while folder != end {
            let candidate = folder.appending(Self.recipientFileName)
            if agreed.contains(where: { $0.file == candidate }) { return candidate }
            guard folder.removeLastComponent() else { break }
        }
        return file
    }

    /// As `agreedFile`, of many secrets: those lists that are gone.
    func agreedFiles(for secrets: [FilePath], now file: FilePath) -> Set<FilePath> {
        let folders = Set(secrets.map { $0.removingLastComponent() })
        return Set(folders.map { agreedFile(for: $0.appending(Self.recipientFileName), now: file) })
            .subtracting([file])
    }

    /// Forgets what was agreed to for lists of these secrets that are gone: the change that takes their place, whose
    /// readers the user has agreed to, stands for them.
    func supersede(_ file: FilePath, for secrets: [FilePath]) throws(StoreError) {
        let gone = agreedFiles(for: secrets, now: file)
        guard !gone.isEmpty else { return }
        try updateRecord { entries in
            entries.filter { $0.kind != .agreed || !gone.contains($0.file) }
        }
    }

    /// Forgets what was agreed to for the list of a folder that the user removes: from then on that of the folder above counts.
    public func forgetAgreement(to list: FilePath) throws(StoreError) {
        guard agreed != nil else { return }
        try updateRecord { entries in entries.filter { $0.file != list } }
    }

    /// What was agreed to; nil where nothing was ever, or where that is lost.
    var agreed: [RecordContent.Entry]? { agreement.entries }

    /// The names that were in the lists when they were agreed to.
    var agreedNames: [RecordContent.Entry] { options.record?.names(of: recordNames) ?? [] }

    /// The names that were in a list when it was agreed to, or in the one that a new list takes the place of.
    func knownNames(_ file: FilePath, _ agreed: [RecordContent.Entry]) -> [String] {
        guard let nearest = Self.entry(for: file, agreed)?.file else { return [] }
        return agreedNames.filter { $0.file == nearest || $0.file == file }.flatMap(\.fingerprints)
    }

    /// Who was agreed to for a file, by fingerprints; for one that is new, who was for the nearest one above it.
    public func agreedReaders(of file: FilePath) -> [String] {
        agreed.map { Self.agreed(file, $0) } ?? []
    }

    /// Who was agreed to for a file; for one that is new, who was for the nearest one above it.
    static func agreed(_ file: FilePath, _ entries: [RecordContent.Entry]) -> [String] {
        entry(for: file, entries)?.fingerprints ?? []
    }

    private static func entry(
        for file: FilePath, _ entries: [RecordContent.Entry]
    ) -> RecordContent.Entry? {
        var folder = file.removingLastComponent()
        while true {
            let candidate = folder.appending(recipientFileName)
            if let entry = entries.first(where: { $0.file == candidate }) { return entry }
            guard folder.removeLastComponent() else { return nil }
        }
    }
}

extension RecipientRecord.Agreement {
    /// What was agreed to; empty where that is lost, nil where nothing ever was.
    var entries: [RecordContent.Entry]? {
        switch self {
        case .known(let entries): entries
        case .lost: []
        case .never: nil
        }
    }
}
