import OpenPGP
public import SystemPackage

extension Store {
    /// Whether a secret need not be encrypted anew under another name: the same keys apply to both. Paths are on disk.
    /// - Throws: where it cannot be said to whom one of them is to be encrypted.
    public func haveSameRecipients(_ one: FilePath, _ other: FilePath) throws(StoreError) -> Bool {
        if one.removingLastComponent() == other.removingLastComponent() { return true }
        if try recipientFile(for: one) == recipientFile(for: other) { return true }
        return try Self.targets(recipients(for: one)) == Self.targets(recipients(for: other))
    }

    /// What gpg encrypts to: two recipients are the same when this is.
    private static func targets(_ list: RecipientList) -> Set<String> {
        Set(list.recipients.map { "\($0.key.fingerprint) \($0.subkey.map(\.description) ?? "")" })
    }
}
