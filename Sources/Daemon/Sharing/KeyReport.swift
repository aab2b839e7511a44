/// How a key is doing.
public enum KeyState: String, Codable, Sendable {
    /// It can be encrypted to.
    case usable
    /// It can, and will expire within thirty days.
    case expiring
    /// It expired.
    case expired
    /// Its owner took it back.
    case revoked
    /// It is disabled in this keyring.
    case disabled
    /// It has no subkey for encryption.
    case notForEncryption
    /// `recipients.trust` asks for gpg's trust model, which does not trust it.
    case untrusted
    /// The line of a `.gpg-id` means no key of this keyring, or several.
    case missing
}

/// A key that recipients of stores name.
public struct KeyReport: Codable, Sendable, Equatable {
    /// The fingerprint; nil when the key is missing.
    public var fingerprint: String?
    /// The last 16 digits of it; the line of `.gpg-id` when the key is missing.
    public var id: String
    /// The user ids that are not revoked.
    public var userIDs: [String]
    /// Whether its secret key is here.
    public var isOwn: Bool
    /// Whether it has a subkey for encryption that can be used.
    public var canEncrypt: Bool
    /// How far gpg trusts it: unknown, undefined, never, marginal, full, ultimate.
    public var trust: String
    /// How it is doing.
    public var state: KeyState
    /// When what is encrypted to it expires; nil: never.
    public var expires: Timestamp?
    /// The folders whose `.gpg-id` names it: `STORE/FOLDER`.
    public var folders: [String]
    /// What is wrong with it, as one sentence.
    public var problem: String?
}

/// A key in a file, as it would be imported.
public struct KeyPreview: Codable, Sendable, Equatable {
    /// The fingerprint.
    public var fingerprint: String
    /// The user ids.
    public var userIDs: [String]
    /// Whether the keyring has it already.
    public var isKnown: Bool
    /// How a `.gpg-id` of a store names it; nil: none does.
    public var naming: KeyNaming?
}

/// How a `.gpg-id` names a key, the surest way first.
public enum KeyNaming: Int, Codable, Sendable, Comparable {
    /// By its fingerprint.
    case fingerprint
    /// By the last 16 digits of it.
    case keyID
    /// By the last 8 digits of it, which anybody can give another key, too.
    case shortKeyID
    /// By an address, which anybody can write into a key.
    case address

    /// The surer one is less.
    public static func < (left: KeyNaming, right: KeyNaming) -> Bool { left.rawValue < right.rawValue }
}
