import Glibc

/// A recipient pinned to a fingerprint, so that what is encrypted later goes to the key that was looked at.
public struct Recipient: Sendable, Hashable {
    /// The key.
    public let key: Key
    /// That very subkey, when the line ended in `!`; nil lets gpg take the key's newest one.
    public let subkey: Fingerprint?
    /// What the line said.
    public let named: String

    /// Pins `key`, or just one `subkey` of it, for the line `named`.
    public init(key: Key, subkey: Fingerprint? = nil, named: String) {
        self.key = key
        self.subkey = subkey
        self.named = named
    }

    /// The same recipient with its key as it is listed now.
    func with(_ key: Key) -> Recipient { Recipient(key: key, subkey: subkey, named: named) }

    /// Whether gpg would encrypt to it at `now`, in seconds since 1970.
    public func encryptionState(at now: Int64) -> EncryptionState {
        guard let subkey else { return key.encryptionState(at: now) }
        return key.encryptionState(ofSubkey: subkey, at: now)
    }

    /// Whether all that is encrypted to it can be read here: it is one of the user's own.
    public var isOwn: Bool { key.isOwn(subkey, at: Int64(time(nil))) }

    /// Whether it is own, and nobody else can add a reader to it later.
    public var isSurelyOwn: Bool { isOwn && key.isGovernedHere }

    /// How gpg is told: the primary key's fingerprint, or the subkey's followed by `!`.
    var specification: String { subkey.map { "\($0)!" } ?? key.fingerprint.description }

    /// The ids that an encrypted session key for this recipient may carry.
    var possibleKeyIDs: [UInt64] {
        if let subkey { return [subkey.keyID] }
        return key.subkeys.filter(\.canEncrypt).map(\.keyID)
    }

    /// Why nothing may be encrypted to the recipient now; nil when it may.
    public func objection(at now: Int64, trust: TrustModel = .always) -> OpenPGPError? {
        let who = "the key of \(key.title)"
        switch encryptionState(at: now) {
        case .usable:
            guard trust == .gpg, !key.isTrusted else { return nil }
            return OpenPGPError(
                .untrustedKey,
                "\(who) is not trusted, and recipients.trust asks for gpg's trust model: sign it "
                    + "with gpg --lsign-key \(key.fingerprint)", subject: named)
        case .expired(let since):
            return OpenPGPError(.expiredKey, "\(who) expired on \(Self.date(since))", subject: named)
        case .revoked: return OpenPGPError(.revokedKey, "\(who) was revoked", subject: named)
        case .disabled:
            return OpenPGPError(.disabledKey, "\(who) is disabled in the keyring", subject: named)
        case .notForEncryption:
            return OpenPGPError(.notForEncryption, "\(who) cannot be used for encryption", subject: named)
        }
    }

    private static func date(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(Int(parts.tm_year) + 1900)-\(padded(Int(parts.tm_mon) + 1))-\(padded(Int(parts.tm_mday)))"
    }
}
