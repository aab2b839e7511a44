public import OpenPGP
public import SystemPackage

/// A `.gpg-id` that names others than when you last agreed to it.
public struct ForeignRecipients: Sendable, Equatable {
    /// The file, relative to the store.
    public var file: FilePath
    /// Fingerprints of keys that were added.
    public var added: [String]
    /// Fingerprints of keys that were removed.
    public var removed: [String]
}

/// Whom the `.gpg-id` files of a store named at one moment: what a user is shown is what the user agrees to.
public struct RecipientSnapshot: Sendable, Equatable {
    /// What differs from what was agreed.
    public var changes: [ForeignRecipients]
    let entries: [RecordContent.Entry]
}

extension Store {
    /// What the record files the store under: its identifier, and the one from before it had an id.
    private var recordNames: [String] {
        let older = "path:\(root.path)"
        return identifier == older ? [identifier] : [identifier, older]
    }

    private var agreement: RecipientRecord.Agreement {
        options.record?.agreement(of: recordNames) ?? .never
    }

    /// Notes what the `.gpg-id` files say now as agreed to, where nothing was ever noted of this store: before that,
    /// nothing can have been added behind anybody's back.
    public func recordRecipientsAtFirstSight() throws(StoreError) {
        guard options.record != nil, agreement == .never else { return }
        do {
            try agree(to: snapshot())
        } catch {
            // Where nothing has to be agreed to, the record only tells of changes.
            if mustConfirm(FilePath(root: nil, [Self.recipientFileName])) { throw error }
        }
    }

    /// Why it is not known whom you agreed to, as a sentence; nil where it is.
    public var lostAgreement: String? {
        guard case .lost(let reason) = agreement else { return nil }
        return
            "whom you agreed to encrypt to in the store \"\(name)\" is not known any more, because \(reason): "
            + "look at passdir recipients show \(name), then run passdir recipients confirm \(name)."
    }

    /// Whom the `.gpg-id` files name now, and how that differs from what was agreed.
    public func snapshot() throws(StoreError) -> RecipientSnapshot {
        var entries: [RecordContent.Entry] = []
        var changes: [ForeignRecipients] = []
        let agreed = agreed
        for file in try recipientFiles(below: FilePath()) {
            guard let now = fingerprints(in: file) else {
                // What cannot be read cannot be agreed to: what was, stays.
                if let entry = agreed?.first(where: { $0.file == file }) { entries.append(entry) }
                continue
            }
            entries.append(RecordContent.Entry(store: identifier, file: file, fingerprints: now))
            guard let agreed else { continue }
            let old = Self.agreed(file, agreed)
            let gone = old.filter { !now.contains($0) }
            // A new file for fewer than those above it is no news, unless it is for none of one's own keys.
            let counts =
                agreed.contains { $0.file == file } || !gone.isEmpty && !isAnyOwn(now) && isAnyOwn(gone)
            let change = ForeignRecipients(
                file: file, added: now.filter { !old.contains($0) }, removed: counts ? gone : [])
            if !change.added.isEmpty || !change.removed.isEmpty { changes.append(change) }
        }
        for entry in agreed ?? [] where !entries.contains(where: { $0.file == entry.file }) {
            guard let nearest = try? recipientFile(for: entry.file), nearest != entry.file,
                let now = fingerprints(in: nearest)
            else { continue }
            let added = now.filter { !entry.fingerprints.contains($0) }
            if !added.isEmpty {
                changes.append(ForeignRecipients(file: entry.file, added: added, removed: []))
            }
        }
        return RecipientSnapshot(changes: changes, entries: entries)
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

    /// Takes back what was agreed to for a change that is not made.
    func withdraw(_ keys: Set<Fingerprint>, in file: FilePath) throws(StoreError) {
        guard !keys.isEmpty, let agreed else { return }
        let kept = Self.agreed(file, agreed).filter { digits in !keys.contains { $0.description == digits } }
        try agree(to: kept, in: file)
    }

    /// Remembers keys that others brought into a `.gpg-id`: whoever saves the file must not agree to them in passing,
    /// even when it no longer has them then. Where nothing was ever agreed there is nobody to be told apart.
    public func noteOffered(_ changes: [ForeignRecipients]) {
        guard let record = options.record, case .known = agreement else { return }
        let id = identifier
        let known = record.offered(to: recordNames)
        let new = changes.flatMap { change in
            change.added.filter { !known.contains($0) }.map { (change.file, $0) }
        }
        guard !new.isEmpty else { return }
        // A record that lags makes one question less, nothing else.
        try? updateRecord { entries in
            entries
                + new.map { RecordContent.Entry(kind: .offered, store: id, file: $0.0, fingerprints: [$0.1]) }
        }
    }

    /// Whether a key lies in a `.gpg-id` by somebody else's doing: it was brought by a merge.
    func isOffered(_ recipient: Recipient) -> Bool {
        options.record?.offered(to: recordNames).contains(recipient.key.fingerprint.description) ?? false
    }

    private func updateRecord(
        _ change: ([RecordContent.Entry]) -> [RecordContent.Entry]
    ) throws(StoreError) {
        guard let record = options.record else { return }
        do {
            try record.update(recordNames, change)
        } catch {
            throw StoreError(.system(error), "cannot keep who the recipients are: \(error).")
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
    private func agreedFiles(for secrets: [FilePath], now file: FilePath) -> Set<FilePath> {
        let folders = Set(secrets.map { $0.removingLastComponent() })
        return Set(folders.map { agreedFile(for: $0.appending(Self.recipientFileName), now: file) })
            .subtracting([file])
    }

    /// Those of the new recipients of a folder that nobody agreed to, for its own list or for one below it that is gone
    /// and was nearer to some of the secrets.
    func unagreed(_ recipients: [Recipient], in file: FilePath, for secrets: [FilePath]) -> [Recipient] {
        let files = agreedFiles(for: secrets, now: file)
        var found = unagreed(recipients, in: file)
        for other in files.sorted(by: { $0.string < $1.string }) {
            found += unagreed(recipients, in: other).filter { recipient in
                !found.contains { $0.key.fingerprint == recipient.key.fingerprint }
            }
        }
        return found
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

    /// Those of the recipients that nobody agreed to for this file.
    func unagreed(_ recipients: [Recipient], in file: FilePath) -> [Recipient] {
        guard options.record != nil, agreement != .never else { return [] }
        let agreed = agreed.map { Self.agreed(file, $0) } ?? []
        return recipients.filter { recipient in
            // A file may name just a subkey of a key that was not here when it was agreed to.
            !agreed.contains(recipient.key.fingerprint.description)
                && !(recipient.subkey.map { agreed.contains($0.description) } ?? false)
        }
    }

    /// Those of the recipients of a `.gpg-id` that nobody agreed to.
    public func notAgreed(_ recipients: [Recipient], in file: FilePath) -> [Recipient] {
        unagreed(recipients, in: file)
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

    /// Refuses what others did to the list of a secret since you last agreed to it, where that is asked for.
    func checkConfirmed(_ list: RecipientList, for secret: FilePath) throws(StoreError) {
        guard let file = list.file, let objection = objection(to: list, for: secret), mustConfirm(file) else {
            return
        }
        throw objection
    }

    /// As `checkConfirmed`, whatever the settings say: what is encrypted anew is not for keys nobody agreed to.
    public func checkAgreed(_ list: RecipientList, for secret: FilePath) throws(StoreError) {
        if let objection = objection(to: list, for: secret) { throw objection }
    }

    /// What speaks against encrypting a secret to a list: a key that nobody agreed to, or that others took all of yours
    /// out.
    private func objection(to list: RecipientList, for secret: FilePath) -> StoreError? {
        guard let file = list.file.map({ agreedFile(for: secret, now: $0) }) else { return nil }
        if let first = unagreed(list.recipients, in: file).first { return unconfirmed(first, in: file) }
        guard !list.recipients.contains(where: \.key.hasSecret), let agreed else { return nil }
        guard isAnyOwn(Self.agreed(file, agreed)) else { return nil }
        return StoreError(
            .unconfirmedRecipients,
            "\(file.string) of the store \"\(name)\" no longer names a key of yours, and you have not agreed to that: "
                + "you could not read what you save. Look at it with passdir recipients show \(name), then run "
                + "passdir recipients confirm \(name).")
    }

    /// Whether the secret part of one of these keys is here.
    private func isAnyOwn(_ fingerprints: [String]) -> Bool {
        // No pattern at all would mean all keys.
        guard !fingerprints.isEmpty else { return false }
        return (try? engine.keys(matching: fingerprints, secretOnly: true))?.isEmpty == false
    }

    private func isThere(_ file: FilePath) -> Bool {
        ((try? root.statusIfPresent(of: file)) ?? nil).map { $0.kind != .directory } ?? false
    }

    /// The error about a key that nobody agreed to.
    func unconfirmed(_ recipient: Recipient, in file: FilePath) -> StoreError {
        if let sentence = lostAgreement { return StoreError(.unconfirmedRecipients, sentence) }
        if !isThere(file) {
            return StoreError(
                .unconfirmedRecipients,
                "\(file.string) of the store \"\(name)\" is gone, so what it was for would be for "
                    + "\(recipient.key.title), too, and you have not agreed to that: put it back, or run passdir "
                    + "recipients confirm \(name).")
        }
        return StoreError(
            .unconfirmedRecipients,
            "\(recipient.key.title) is named in \(file.string) of the store \"\(name)\" and you have not agreed to "
                + "it: run passdir recipients confirm \(name) to look at it and agree, or take it out with passdir "
                + "recipients remove \(name)."
        )
    }

    /// What was agreed to; nil where nothing was ever, or where that is lost.
    private var agreed: [RecordContent.Entry]? {
        switch agreement {
        case .known(let entries): entries
        case .lost: []
        case .never: nil
        }
    }

    /// Who was agreed to for a file; for one that is new, who was for the nearest one above it.
    private static func agreed(_ file: FilePath, _ entries: [RecordContent.Entry]) -> [String] {
        var folder = file.removingLastComponent()
        while true {
            let candidate = folder.appending(recipientFileName)
            if let entry = entries.first(where: { $0.file == candidate }) { return entry.fingerprints }
            guard folder.removeLastComponent() else { return [] }
        }
    }

    /// The keys that a file means here, each by its fingerprint. A line that is a fingerprint counts although its key is
    /// not here; any other name of a key that is not here could come to mean anybody's. nil where the file cannot be
    /// read, or has more lines than a secret may have recipients: each may start a gpg process.
    private func fingerprints(in file: FilePath) -> [String]? {
        guard let bytes = try? read(file, limit: 1 << 20), let lines = RecipientFile(parsing: bytes)?.lines,
            lines.count <= Packets.maximalRecipients
        else { return nil }
        var found: [String] = []
        for line in lines {
            let meant = (try? resolve([line]))?.map(\.key.fingerprint.description)
            let named = line.hasSuffix("!") ? String(line.dropLast()) : line
            for digits in meant ?? Fingerprint(named).map({ [$0.description] }) ?? []
            where !found.contains(digits) { found.append(digits) }
        }
        return found
    }
}
