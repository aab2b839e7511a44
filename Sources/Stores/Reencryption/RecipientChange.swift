import Glibc
public import OpenPGP
import System
public import SystemPackage

/// A change of a folder's recipients as it would be made: who comes, who goes, which secrets are re-encrypted.
public struct RecipientChange: Sendable {
    /// The folder, relative to the store.
    public var folder: FilePath
    /// The new `.gpg-id` of the folder.
    public var file: RecipientFile
    /// Whom the secrets are for now, as far as the keys are here; empty where nobody is named yet.
    public var before: [Recipient]
    /// Whom they will be for.
    public var after: [Recipient]
    /// The lines that go and name no key that is here.
    public var removedLines: [String]
    /// The secrets that the `.gpg-id` applies to and that are not encrypted to just these recipients.
    public var secrets: [FilePath]
    /// How many secrets the `.gpg-id` applies to.
    public var total: Int
    /// Those of `secrets` that no secret key of this keyring decrypts, by their packets.
    public var unreadable: [FilePath]
    /// Whether the file changes at all.
    public var changesFile: Bool
    /// Those of `after` that you have not agreed to for this folder.
    public var unagreed: [NewRecipient]
    /// Whether somebody else took all of your keys out of the list, and you have not agreed to that.
    public var isLossUnagreed: Bool
    /// What all of that was worked out from.
    var basis: ChangeBasis

    /// Who comes.
    public var added: [Recipient] { after.without(before) }
    /// Who goes.
    public var removed: [Recipient] { before.without(after) }
    /// Whether anybody goes.
    public var removesAny: Bool { !removed.isEmpty || !removedLines.isEmpty }
    /// Whether none of the keys that can read it then is one whose secret part is here.
    public var locksOut: Bool { after.allSatisfy { !$0.isOwn } }
    /// Whether there is nothing to do.
    public var isEmpty: Bool { !changesFile && secrets.isEmpty }
}

extension [Recipient] {
    /// Those whose keys are not among the others'.
    func without(_ others: [Recipient]) -> [Recipient] {
        filter { one in !others.contains { $0.key.fingerprint == one.key.fingerprint } }
    }
}

extension Store {
    /// Whether none of the keys that a new list names is one whose secret part is here.
    public func locksOut(_ lines: [String]) throws(StoreError) -> Bool {
        try resolve(lines).allSatisfy { !$0.isOwn }
    }
}

/// A key that a change is for and that you have not agreed to yet.
public struct NewRecipient: Sendable, Hashable {
    /// The key.
    public var recipient: Recipient
    /// Whether somebody else brought it: it is in the `.gpg-id` already, or a merge had it there.
    public var isForeign: Bool
}

extension Store {
    /// Works out what giving a folder this `.gpg-id` means. Nothing is decrypted or written.
    ///
    /// - Parameter list: what `appliedList` said before `file` was made from the folder's current one; nil where `file`
    ///   was not.
    /// - Throws: For every line that names no key, and for every key that cannot be encrypted to, an error that names
    ///   it; and when nobody would be left.
    public func change(
        of folder: FilePath, to file: RecipientFile, from list: AppliedList? = nil
    ) throws(StoreError) -> RecipientChange {
        guard options.recipientOverride == nil else {
            throw StoreError(
                .badRecipientFile,
                "PASSWORD_STORE_KEY is set and overrides every .gpg-id: unset it, then change "
                    + "recipients.")
        }
        guard !file.lines.isEmpty else {
            throw StoreError(
                .badRecipientFile, "nobody would be left to read the secrets: name at least one key.")
        }
        try StoreError.wrapping("use the folder", folder) {
            guard try root.status(of: folder).kind == .directory else { throw Errno.notDirectory }
        }
        let after = try usableRecipients(file.lines)
        let place = folder.appending(Self.recipientFileName)
        let applied = if let list { list } else { try appliedList(of: folder) }
        let before = (try? self.list(for: place))?.recipients ?? knownRecipients(of: place)
        let isThere = Set(before.map(\.key.fingerprint))
        let contents = try contents(below: folder)
        let secrets = contents.map(\.secret)
        let unagreed = unagreed(after, in: place, for: secrets).map { recipient in
            NewRecipient(
                recipient: recipient,
                isForeign: isThere.contains(recipient.key.fingerprint) || isOffered(recipient))
        }
        let different = try secrets.picking { (secret) throws(StoreError) in
            try match(secret, after) != .same
        }
        let old = applied.file == place ? applied.bytes : nil
        return RecipientChange(
            folder: folder, file: file, before: before, after: after,
            removedLines: knownLines(of: place).filter {
                !file.lines.contains($0) && ((try? resolve([$0])) ?? []).isEmpty
            }, secrets: different,
            total: secrets.count, unreadable: try unreadable(different), changesFile: old != file.bytes,
            unagreed: unagreed, isLossUnagreed: isLossUnagreed(after, in: place),
            basis: ChangeBasis(
                list: applied,
                contents: Dictionary(contents.map { ($0.secret, $0.content) }, uniquingKeysWith: { $1 })))
    }

    /// Those recipients of a list whose keys are here.
    private func knownRecipients(of place: FilePath) -> [Recipient] {
        knownLines(of: place).flatMap { (try? resolve([$0])) ?? [] }
    }

    /// The lines of the list that applies to a place; none where it cannot be read.
    private func knownLines(of place: FilePath) -> [String] {
        guard let file = try? recipientFile(for: place) else { return [] }
        return (try? recipientFileContent(file, isVerified: false))?.lines ?? []
    }

    /// How a secret's packets compare with these recipients.
    func match(_ secret: FilePath, _ recipients: [Recipient]) throws(StoreError) -> RecipientMatch {
        RecipientMatch(actual: try recipientKeyIDs(of: secret), recipients: recipients, at: Int64(time(nil)))
    }

    /// Those secrets that no secret key of the keyring is named in; a hidden recipient may be anybody.
    public func unreadable(_ secrets: [FilePath]) throws(StoreError) -> [FilePath] {
        guard !secrets.isEmpty else { return [] }
        let mine = try allOwnKeyIDs()
        return try secrets.picking { (secret) throws(StoreError) in
            !(try recipientKeyIDs(of: secret)).contains { $0 == 0 || mine.contains($0) }
        }
    }

    /// The `.gpg-id` that a folder has, or, where it has none, one that says what applies to it now.
    public func currentFile(of folder: FilePath) throws(StoreError) -> RecipientFile {
        let place = folder.appending(Self.recipientFileName)
        let file = try recipientFile(for: place)
        let content = try recipientFileContent(file)
        return file == place ? content : RecipientFile(lines: content.lines)
    }

    /// The line that names the key which `name` means: its fingerprint, so that it never means another key; the name
    /// itself where it is a group of several keys.
    public func line(for name: String) throws(StoreError) -> String {
        let found = try usableRecipients([name])
        guard found.count == 1, found[0].named == name else { return name }
        return found[0].line
    }

    /// A `.gpg-id` without those lines that mean only keys that `names` mean; also lines that are just such a name, or are
    /// shown as it is where they hold what is not shown.
    /// - Throws: When a name is in no line.
    public func file(_ file: RecipientFile, without names: [String]) throws(StoreError) -> RecipientFile {
        var result = file
        for name in names {
            let keys = (try? resolve([name])) ?? []
            let next = result.removing { line in
                if line.lowercased() == name.lowercased() || VisibleText.line(line) == name { return true }
                guard !keys.isEmpty, let meant = try? self.resolve([line]) else { return false }
                return meant.without(keys).isEmpty
            }
            guard next != result else {
                throw StoreError(.badRecipientFile, "\(name) is not a recipient there: nothing was changed.")
            }
            result = next
        }
        return result
    }
}
