extension Recipient {
    /// The subkey that gpg encrypts to at `now`, in seconds since 1970: the one named with `!`, else the newest that
    /// is usable, subkeys before the primary key. nil when there is none.
    public func encryptionSubkey(at now: Int64) -> Subkey? {
        let candidates = key.subkeys.filter {
            $0.canEncrypt && !$0.isRevoked && !$0.isInvalid && !$0.hasExpired(at: now)
        }
        if let subkey { return candidates.first { $0.fingerprint == subkey } }
        let below = candidates.filter { $0.fingerprint != key.fingerprint }
        return (below.isEmpty ? candidates : below).max { $0.created < $1.created }
    }

    /// The ids of the subkeys by which it could be encrypted to, where it no longer can at `now`, in seconds since 1970; else
    /// none.
    public func formerKeyIDs(at now: Int64) -> [UInt64] {
        guard encryptionSubkey(at: now) == nil else { return [] }
        return key.subkeys.filter { $0.canEncrypt && (subkey == nil || $0.fingerprint == subkey) }.map(
            \.keyID)
    }

    /// The recipient as a line of a `.gpg-id` file that means just this key or subkey.
    public var line: String { specification }
}

/// How what a message is encrypted to compares with whom it should be encrypted to.
public enum RecipientMatch: Sendable, Hashable {
    /// Just the recipients.
    case same
    /// Other, more or fewer keys.
    case different
    /// As many keys as there should be, some of them hidden (`throw-keyids`), so that nothing more can be said.
    case hidden

    /// Compares the key ids of a message's packets with the recipients. One that can no longer be encrypted to may be among
    /// them or not.
    public init(actual: [UInt64], recipients: [Recipient], at now: Int64) {
        let expected = Set(recipients.compactMap { $0.encryptionSubkey(at: now)?.keyID })
        let former = Set(recipients.flatMap { $0.formerKeyIDs(at: now) }).subtracting(expected)
        let actual = actual.filter { !former.contains($0) }
        let shown = Set(actual.filter { $0 != 0 })
        let hiddenCount = actual.count { $0 == 0 }
        guard hiddenCount > 0 else {
            self = shown == expected ? .same : .different
            return
        }
        self =
            shown.isSubset(of: expected) && shown.count + hiddenCount == expected.count ? .hidden : .different
    }
}
