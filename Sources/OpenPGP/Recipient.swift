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

    /// Whether gpg would encrypt to it at `now`, in seconds since 1970.
    public func encryptionState(at now: Int64) -> EncryptionState {
        guard let subkey else { return key.encryptionState(at: now) }
        return key.encryptionState(ofSubkey: subkey, at: now)
    }

    /// How gpg is told: the primary key's fingerprint, or the subkey's followed by `!`.
    var specification: String { subkey.map { "\($0)!" } ?? key.fingerprint.description }

    /// The ids that an encrypted session key for this recipient may carry.
    var possibleKeyIDs: [UInt64] {
        if let subkey { return [subkey.keyID] }
        return key.subkeys.filter(\.canEncrypt).map(\.keyID)
    }
}
