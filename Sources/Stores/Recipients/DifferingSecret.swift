public import OpenPGP
public import SystemPackage

/// A secret that is not for just whom its `.gpg-id` names, as it was shown.
public struct DifferingSecret: Sendable {
    /// Relative to the store.
    public var secret: FilePath
    /// Whom it will be for.
    public var readers: [Recipient]
    /// Its ciphertext.
    var content: ContentIdentity
}

extension Store {
    /// A secret as it lies there now, to be shown; nil when it is gone.
    public func differing(_ secret: FilePath, readers: [Recipient]) throws(StoreError) -> DifferingSecret? {
        return try StoreError.wrapping("stat", secret) {
            guard let status = try root.statusIfPresent(of: secret) else { return nil }
            return DifferingSecret(
                secret: secret, readers: readers, content: ContentIdentity(status.identity))
        }
    }
}
