/// Which keys may be encrypted to.
public enum TrustModel: Sendable, Hashable {
    /// Every usable key that was named, as pass does it.
    case always
    /// Keys that gpg's own trust model finds valid, at least marginally.
    case gpg
}

extension Key {
    /// Whether gpg would encrypt to the key without being told to trust it: the validity of its best user id, as gpg
    /// computed it when the key was listed.
    public var isTrusted: Bool {
        let validity = userIDs.filter { !$0.isRevoked && !$0.isInvalid }.map(\.validity).max() ?? .unknown
        return validity >= .marginal
    }
}
