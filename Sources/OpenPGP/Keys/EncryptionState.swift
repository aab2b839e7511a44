/// Whether a key can be encrypted to, and if not why.
public enum EncryptionState: Sendable, Hashable {
    /// It can.
    case usable
    /// It expired at `since`, in seconds since 1970.
    case expired(since: Int64)
    /// Its owner took it, or its only subkey for encryption, back.
    case revoked
    /// It was disabled in the local keyring.
    case disabled
    /// It has no subkey for encryption, or gpg calls it invalid.
    case notForEncryption
}

extension Key {
    /// Whether gpg would encrypt to the key at `now`, in seconds since 1970.
    ///
    /// It is computed from the dates of the key, so that a key that was listed long ago is still judged rightly.
    public func encryptionState(at now: Int64) -> EncryptionState {
        if let reason = unusableReason(at: now) { return reason }
        return Self.state(of: subkeys.filter(\.canEncrypt), at: now)
    }

    /// Whether gpg would encrypt to just this subkey (a recipient that ends in `!`).
    public func encryptionState(ofSubkey fingerprint: Fingerprint, at now: Int64) -> EncryptionState {
        if let reason = unusableReason(at: now) { return reason }
        return Self.state(of: subkeys.filter { $0.canEncrypt && $0.fingerprint == fingerprint }, at: now)
    }

    /// What stands against the key as a whole.
    private func unusableReason(at now: Int64) -> EncryptionState? {
        if isRevoked { return .revoked }
        if let expires, expires <= now { return .expired(since: expires) }
        if isDisabled { return .disabled }
        if isInvalid { return .notForEncryption }
        return nil
    }

    private static func state(of candidates: [Subkey], at now: Int64) -> EncryptionState {
        let sound = candidates.filter { !$0.isInvalid }
        if sound.contains(where: { !$0.isRevoked && !$0.hasExpired(at: now) }) { return .usable }
        let expiries = sound.filter { !$0.isRevoked }.compactMap(\.expires)
        if let last = expiries.max() { return .expired(since: last) }
        return sound.contains(where: \.isRevoked) ? .revoked : .notForEncryption
    }
}
