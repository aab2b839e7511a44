public import OpenPGP
import System
public import SystemPackage

/// A `.gpg-id` that names others than when you last agreed to it.
public struct ForeignRecipients: Sendable, Equatable {
    /// The file, relative to the store.
    public var file: FilePath
    /// Fingerprints of keys that were added.
    public var added: [String] = []
    /// Fingerprints of keys that were removed.
    public var removed: [String] = []
    /// Names that were added and mean no key here, or several.
    public var unknown: [UnknownName] = []
    /// Why the file cannot be used as it is, as one sentence; nil where it can.
    public var problem: String?
    /// How many of its recipients you have agreed to.
    public var keptCount = 0

    /// Whether there is nothing in it that an agreement could be about.
    public var isEmpty: Bool { added.isEmpty && removed.isEmpty && unknown.isEmpty && problem == nil }
}

/// A line of a `.gpg-id` that means no key here, or several.
public struct UnknownName: Sendable, Equatable {
    /// The line.
    public var name: String
    /// What is wrong with it, as the rest of a sentence.
    public var reason: String
    /// Whether its key is missing; else several keys bear it.
    public var isMissing: Bool
    /// Whether GnuPG could be asked for it at all.
    var wasAsked = true
}

/// Whom the `.gpg-id` files of a store named at one moment: what a user is shown is what the user agrees to.
public struct RecipientSnapshot: Sendable, Equatable {
    /// What differs from what was agreed.
    public var changes: [ForeignRecipients]
    let entries: [RecordContent.Entry]
    /// The names in files in which all is agreed to: should their keys go away, nobody has added them.
    let settledNames: [RecordContent.Entry]
}

extension Store {
    /// After so many names that mean no key here a look at the lists goes no further: others may push any number, and for
    /// each a gpg is started.
    public static let mostUnknownNames = 1000

    /// Whom the `.gpg-id` files name now, and how that differs from what was agreed.
    /// - Parameters:
    ///   - waiting: Secrets that are not on disk and wait to be saved; the end of their names does not matter.
    ///   - most: After so many unknown names no further list is looked at.
    public func snapshot(
        alsoFor waiting: [FilePath] = [], unknownNames most: Int = mostUnknownNames
    ) throws(StoreError) -> RecipientSnapshot {
        var entries: [RecordContent.Entry] = []
        var changes: [ForeignRecipients] = []
        var settled: [RecordContent.Entry] = []
        // Once: another process may be writing what it saw first.
        let agreement = agreement
        let agreed = agreement.entries
        let isKnown = if case .known = agreement { true } else { false }
        let names = agreedNames
        let awaited = options.record?.awaited(of: recordNames) ?? []
        var unknownCount = 0
        for file in try recipientFiles(below: FilePath()) {
            let list: ListedReaders
            do throws(StoreError) {
                guard unknownCount < most else {
                    throw StoreError(
                        .badRecipientFile,
                        "\(file) of the store \"\(name)\" was not examined: the lists before it name "
                            + "\(unknownCount) keys that are not here")
                }
                list = try listed(in: file)
                unknownCount += list.unknown.count
            } catch {
                // What cannot be read cannot be agreed to: what was, stays.
                entries += ((agreed ?? []) + names + awaited).filter { $0.file == file }
                guard agreed != nil, isThere(file) else { continue }
                changes.append(ForeignRecipients(file: file, problem: error.message))
                continue
            }
            entries.append(
                RecordContent.Entry(store: identifier, file: file, fingerprints: list.fingerprints))
            let change = agreed.map { difference(list, file, $0) } ?? ForeignRecipients(file: file)
            if !change.isEmpty { changes.append(change) }
            // A name is agreed to with the key that it means. Where nothing is known, all that is there counts.
            let accepted = list.unknown.map(\.name).filter { name in
                !isKnown || !change.unknown.contains { $0.name == name }
            }
            let entry = RecordContent.Entry(
                kind: .named, store: identifier, file: file, fingerprints: list.names + accepted)
            if !entry.fingerprints.isEmpty { entries.append(entry) }
            let waiting: AwaitedNames?
            switch agreement {
            case .never:
                waiting = AwaitedNames(
                    list.unknown, in: engine.home,
                    isRight: !list.unknown.isEmpty && isAnyOwn(list.fingerprints))
            case .known: waiting = AwaitedNames(awaited, of: file)?.only(list.unknown.map(\.name))
            case .lost: waiting = nil
            }
            if let waiting { entries.append(waiting.entry(store: identifier, file: file)) }
            if change.isEmpty, isKnown { settled.append(entry) }
        }
        for entry in agreed ?? [] where !entries.contains(where: { $0.file == entry.file }) {
            guard let nearest = try? recipientFile(for: entry.file), nearest != entry.file,
                let now = try? listed(in: nearest).fingerprints
            else { continue }
            let added = now.filter { !entry.fingerprints.contains($0) }
            guard !added.isEmpty else { continue }
            if try holdsSecrets(entry.file.removingLastComponent(), alsoFor: waiting) {
                changes.append(ForeignRecipients(file: entry.file, added: added))
            } else {
                // Nothing is there that it would be about: that is asked when something is saved there.
                entries += ((agreed ?? []) + names + awaited).filter { $0.file == entry.file }
            }
        }
        return RecipientSnapshot(changes: changes, entries: entries, settledNames: settled)
    }

    /// Whether there are secrets for which the list of a folder counts, or would.
    private func holdsSecrets(_ folder: FilePath, alsoFor waiting: [FilePath]) throws(StoreError) -> Bool {
        if waiting.contains(where: { $0.starts(with: folder) }) { return true }
        do throws(StoreError) {
            return try !secrets(below: folder, nested: false).isEmpty
        } catch {
            switch error.code {
            case .system(.noSuchFileOrDirectory), .system(.notDirectory): return false
            default: throw error
            }
        }
    }

    /// How a list differs from what was agreed to for its file.
    private func difference(
        _ list: ListedReaders, _ file: FilePath, _ agreed: [RecordContent.Entry]
    ) -> ForeignRecipients {
        let now = list.fingerprints
        let old = Self.agreed(file, agreed)
        let known = knownNames(file, agreed)
        var gone = old.filter { !now.contains($0) }
        // A name that was agreed to and means nobody here now: it is the key that is gone, not its name.
        if list.unknown.contains(where: { known.contains($0.name) }) {
            gone = gone.filter { (try? engine.resolve($0, askingAgent: false)) != nil }
        }
        // A new file for fewer than those above it is no news, unless it is for none of one's own keys.
        let counts =
            agreed.contains { $0.file == file } || !gone.isEmpty && !isAnyOwn(now) && isAnyOwn(gone)
        let added = now.filter { !old.contains($0) }
        let unknown = list.unknown.filter { !known.contains($0.name) }
        return ForeignRecipients(
            file: file, added: added, removed: counts ? gone : [], unknown: unknown,
            keptCount: now.count - added.count + list.unknown.count - unknown.count)
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

    /// Those of the recipients that nobody agreed to for this file.
    func unagreed(_ recipients: [Recipient], in file: FilePath) -> [Recipient] {
        guard options.record != nil, agreement != .never else { return [] }
        recordAwaitedNames()
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

    /// Refuses what others did to the list of a secret since you last agreed to it, where that is asked for.
    func checkConfirmed(_ list: RecipientList, for secret: FilePath) throws(StoreError) {
        guard let file = list.file, let objection = objection(to: list, for: secret), mustConfirm(file) else {
            return
        }
        throw objection
    }

    /// As `checkConfirmed`, whatever the settings say: what is re-encrypted is not for keys nobody agreed to.
    public func checkAgreed(_ list: RecipientList, for secret: FilePath) throws(StoreError) {
        if let objection = objection(to: list, for: secret) { throw objection }
    }

    /// What speaks against encrypting a secret to a list: a key that nobody agreed to, or that others took all of yours
    /// out.
    private func objection(to list: RecipientList, for secret: FilePath) -> StoreError? {
        guard let file = list.file.map({ agreedFile(for: secret, now: $0) }) else { return nil }
        if let first = unagreed(list.recipients, in: file).first { return unconfirmed(first, in: file) }
        guard isLossUnagreed(list.recipients, in: file) else { return nil }
        return StoreError(
            .unconfirmedRecipients,
            "\(file.string) of the store \"\(name)\" no longer names a key of yours, and you have not approved "
                + "that: you could not read what you save. Look at it with passdir recipients show "
                + "\(ShellWord.quoted(name)), then run "
                + "passdir recipients confirm \(ShellWord.quoted(name)).")
    }

    private func isThere(_ file: FilePath) -> Bool {
        ((try? root.statusIfPresent(of: file)) ?? nil).map { $0.kind != .directory } ?? false
    }

    /// The error about a key that nobody agreed to.
    func unconfirmed(_ recipient: Recipient, in file: FilePath) -> StoreError {
        if let sentence = lostAgreement { return StoreError(.unconfirmedRecipients, sentence) }
        if !isThere(file) {
            return StoreError(
                .vanishedRecipientFile,
                "\(file.string) of the store \"\(name)\" is gone, so its secrets would also be encrypted to "
                    + "\(recipient.key.title), and you have not approved that: put it back, or run passdir "
                    + "recipients confirm \(ShellWord.quoted(name)).")
        }
        let folder = file.removingLastComponent()
        let place = ShellWord.quoted(folder.isEmpty ? name : "\(name)/\(folder.string)")
        // Who takes out their own key locks themselves out.
        let removal =
            isOwn(recipient.key.fingerprint.description)
            ? "" : ", or remove it with passdir recipients remove \(place) \(recipient.key.fingerprint)"
        return StoreError(
            .unconfirmedRecipients,
            "\(recipient.key.title) is named in \(file.string) of the store \"\(name)\" and you have not "
                + "approved it: run passdir recipients confirm \(ShellWord.quoted(name)) to review and approve "
                + "it\(removal)."
        )
    }

    /// The keys that a file means here, by their fingerprints.
    func listedFingerprints(in file: FilePath) throws(StoreError) -> [String] {
        try listed(in: file).fingerprints
    }

    /// The keys that a file means here, each by its fingerprint. A line that is a fingerprint counts although its key is
    /// not here; any other name of a key that is not here could come to mean anybody's. Refused is a file that cannot be
    /// read, or has more lines than a secret may have recipients: each may start a gpg process.
    private func listed(in file: FilePath) throws(StoreError) -> ListedReaders {
        var found = ListedReaders()
        for line in try recipientFileContent(file, isVerified: false).lines {
            let named = line.hasSuffix("!") ? String(line.dropLast()) : line
            let digits = Fingerprint(named)?.description
            do throws(OpenPGPError) {
                let meant = try engine.resolve(line, askingAgent: false).map(\.key.fingerprint.description)
                found.fingerprints += meant.filter { !found.fingerprints.contains($0) }
                if digits == nil { found.names.append(line) }
            } catch {
                if let digits {
                    if !found.fingerprints.contains(digits) { found.fingerprints.append(digits) }
                } else if !found.unknown.contains(where: { $0.name == line }) {
                    found.unknown.append(
                        UnknownName(
                            name: line, reason: error.message, isMissing: error.code == .missingKey,
                            wasAsked: [.missingKey, .ambiguousKey].contains(error.code)))
                }
            }
        }
        return found
    }
}

/// What the lines of a `.gpg-id` mean here.
private struct ListedReaders {
    /// The keys.
    var fingerprints: [String] = []
    /// The lines that are no fingerprints and mean keys.
    var names: [String] = []
    /// Those that mean none, or several.
    var unknown: [UnknownName] = []
}
