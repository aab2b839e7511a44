/// How far a user id is trusted, as gpg computed it.
public enum Trust: Int, Sendable, Hashable, Comparable {
    /// Nothing was said.
    case unknown
    /// Too little is known.
    case undefined
    /// Not trusted.
    case never
    /// Trusted a little.
    case marginal
    /// Trusted fully.
    case full
    /// The user's own.
    case ultimate

    /// Orders from `unknown` up to `ultimate`.
    public static func < (left: Trust, right: Trust) -> Bool { left.rawValue < right.rawValue }
}

/// One user id of a key.
public struct UserID: Sendable, Hashable {
    /// The whole id: `Ann <ann@example.org>`.
    public let text: String
    /// The part before the address; may be empty.
    public let name: String
    /// The address without angle brackets; may be empty.
    public let email: String
    /// The owner took this user id back.
    public let isRevoked: Bool
    /// The self-signature is missing or bad.
    public let isInvalid: Bool
    /// How certain gpg is that the id belongs to the key.
    public let validity: Trust
}

/// The primary key or a subkey.
public struct Subkey: Sendable, Hashable {
    /// Its own fingerprint.
    public let fingerprint: Fingerprint
    /// The last 64 bits of the fingerprint.
    public let keyID: UInt64
    /// It may be encrypted to.
    public let canEncrypt: Bool
    /// The owner took it back.
    public let isRevoked: Bool
    /// Its binding signature is missing or bad.
    public let isInvalid: Bool
    /// Seconds since 1970 when it was made.
    public let created: Int64
    /// Seconds since 1970 when it expires; nil: never.
    public let expires: Int64?
    /// gpg-agent has its secret part, or knows of the card that has it.
    public let hasSecret: Bool
    /// How gpg-agent names the secret part.
    public let keygrip: String

    /// Whether it has expired at `now`, in seconds since 1970.
    public func hasExpired(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }
}

/// An OpenPGP key of the local keyring, as it was when it was listed.
public struct Key: Sendable, Hashable {
    /// The fingerprint of the primary key.
    public let fingerprint: Fingerprint
    /// The user ids, the primary one first.
    public let userIDs: [UserID]
    /// The owner took the whole key back.
    public let isRevoked: Bool
    /// It had expired when it was listed.
    public let isExpired: Bool
    /// It was disabled in the local keyring.
    public let isDisabled: Bool
    /// gpg thinks it is unusable.
    public let isInvalid: Bool
    /// A usable subkey could be encrypted to when it was listed.
    public let canEncrypt: Bool
    /// gpg-agent has the secret part of the primary key or of a subkey.
    public let hasSecret: Bool
    /// Seconds since 1970 when the primary key was made.
    public let created: Int64
    /// Seconds since 1970 when the primary key expires; nil: never.
    public let expires: Int64?
    /// The primary key, then the subkeys in the order of the keyring.
    public let subkeys: [Subkey]

    /// Whether all that is encrypted to the key can be read here: gpg-agent has the secret part of each subkey that it may be
    /// encrypted to. One of them, which is what `gpg --list-secret-keys` goes by, says nothing: a subkey for encryption signs
    /// nothing, so that anybody can add that of somebody else to a key of his own.
    /// - Parameter subkey: the only one that is encrypted to; nil for whichever gpg takes.
    /// - Parameter now: in seconds since 1970.
    func isOwn(_ subkey: Fingerprint?, at now: Int64) -> Bool {
        let meant = subkeys.filter {
            $0.canEncrypt && !$0.isRevoked && !$0.isInvalid && (subkey == nil || $0.fingerprint == subkey)
        }
        // One that is yet to come counts, as gpg will take it then.
        let lasting = meant.filter { !$0.hasExpired(at: now) }
        let counted = lasting.isEmpty ? meant : lasting
        return !counted.isEmpty && counted.allSatisfy(\.hasSecret)
    }

    /// Whether it is surely the user's: what certifies its subkeys is here, too, or the user trusts it as the own one. Nobody else
    /// can give it another subkey.
    var isGovernedHere: Bool {
        subkeys.first?.hasSecret == true || userIDs.contains { $0.validity == .ultimate }
    }

    /// `Ann <ann@example.org> (FINGERPRINT)`, for sentences.
    public var title: String {
        guard let text = userIDs.first(where: { !$0.isRevoked })?.text ?? userIDs.first?.text, !text.isEmpty
        else { return fingerprint.description }
        return "\(text) (\(fingerprint))"
    }
}
