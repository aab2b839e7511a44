import OpenPGP
import Stores
import Sync
import SystemPackage

/// A `.gpg-id` that names others than when you last agreed to it.
public struct RecipientChangeReport: Codable, Sendable, Equatable {
    /// The file, relative to the store.
    public var file: String
    /// Who was added: `Ann <ann@example.org> (FINGERPRINT)`.
    public var added: [String]
    /// Who was removed.
    public var removed: [String]
    /// Names that were added and mean no key here, or several: nothing can be encrypted for the file before that is
    /// mended.
    public var unknown: [UnknownRecipientReport]
    /// Why the file cannot be used as it is, as one sentence; nil where it can.
    public var problem: String?
    /// The commit that brought it; nil where it is not committed.
    public var commit: String?
    /// Who made that commit.
    public var author: String?
    /// The fingerprint of the key that signed the commit; nil where none did.
    public var signer: String?
    /// Whether one of the keys that were added by their fingerprints is not here.
    public var isAnyKeyMissing: Bool
    /// Whether nothing is encrypted by the list before you have approved it, or it was mended; nil where an older daemon tells.
    public var stopsSaving: Bool?
    /// Whether the store has a `.public-keys`, from which keys can be imported; nil where an older daemon tells.
    public var hasPublicKeys: Bool?
    /// The command that restores what you agreed to, as a shell reads it; nil where that is not known.
    public var refusal: String?

    /// Writes every key, null where there is no value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(added, forKey: .added)
        try container.encode(removed, forKey: .removed)
        try container.encode(unknown, forKey: .unknown)
        try container.encode(problem, forKey: .problem)
        try container.encode(isAnyKeyMissing, forKey: .isAnyKeyMissing)
        try container.encode(stopsSaving, forKey: .stopsSaving)
        try container.encode(hasPublicKeys, forKey: .hasPublicKeys)
        try container.encode(commit, forKey: .commit)
        try container.encode(author, forKey: .author)
        try container.encode(signer, forKey: .signer)
        try container.encode(refusal, forKey: .refusal)
    }
}

/// A name in a `.gpg-id` that means no key here, or several.
public struct UnknownRecipientReport: Codable, Sendable, Equatable {
    /// The line of the file.
    public var name: String
    /// What is wrong with it.
    public var reason: String
    /// Whether its key is missing; else several keys bear it.
    public var isMissing: Bool
}

extension RecipientChangeReport {
    /// The most characters of a command that people would copy.
    private static let longestCommand = 500

    /// What changed, as people know it.
    init(_ change: ForeignRecipients, _ store: Store) {
        let origin = RecipientOrigin(of: change.file, in: store)
        let added = change.added.map { ($0, Self.title($0, store)) }
        let isAnyKeyMissing = added.contains { $1 == nil }
        let isUnusable = isAnyKeyMissing || !change.unknown.isEmpty || change.problem != nil
        self.init(
            file: change.file.string, added: added.map { $1 ?? "\($0) (this key is not here)" },
            removed: change.removed.map { Self.title($0, store) ?? $0 },
            unknown: change.unknown.map {
                UnknownRecipientReport(name: $0.name, reason: $0.reason, isMissing: $0.isMissing)
            },
            problem: change.problem, commit: origin?.commit, author: origin?.author, signer: origin?.signer,
            isAnyKeyMissing: isAnyKeyMissing,
            stopsSaving: isUnusable || !change.added.isEmpty && store.mustConfirm(change.file),
            hasPublicKeys: (try? store.root.status(of: Store.publicKeysName)) != nil,
            refusal: Self.refusal(of: change, store))
    }

    private static func title(_ fingerprint: String, _ store: Store) -> String? {
        (try? store.engine.keys(matching: [fingerprint], secretOnly: false))?.first?.title
    }

    /// Takes out what was added, but for own keys; restores the list where that would not do.
    private static func refusal(of change: ForeignRecipients, _ store: Store) -> String? {
        let foreign = change.added.filter { fingerprint in
            let own = try? store.engine.keys(matching: [fingerprint], secretOnly: true)
            return own?.isEmpty ?? true
        }
        // Who adds a key of yours, and changes nothing else, is hardly to be refused.
        let isOwn = !change.added.isEmpty && foreign.isEmpty
        if isOwn, change.removed.isEmpty, change.unknown.isEmpty, change.problem == nil { return nil }
        let folder = change.file.removingLastComponent()
        let place = folder.isEmpty ? store.name : "\(store.name)/\(folder.string)"
        let names = change.unknown.map(\.name) + foreign
        if change.problem == nil, change.removed.isEmpty, change.keptCount > 0,
            names.reduce(0, { $0 + $1.utf8.count }) < longestCommand
        {
            return command("remove", place, names)
        }
        let old = store.agreedReaders(of: change.file)
        return old.isEmpty ? nil : command("set", place, old)
    }

    private static func command(_ word: String, _ place: String, _ names: [String]) -> String {
        // What begins like an option is none behind "--"; a place never does.
        let separator = names.contains { $0.hasPrefix("-") } ? ["--"] : []
        return
            (["passdir", "recipients", word, ShellWord.quoted(place)] + separator
            + names.map(ShellWord.quoted)).joined(separator: " ")
    }
}
