import Git
public import OpenPGP
public import Stores
public import System
public import SystemPackage

extension StoreHistory {
    /// The text of a secret as it was from a moment on.
    public struct TextVersion: Sendable, Equatable {
        /// When it was saved, in seconds since 1970.
        public var time: Int64
        /// Whether the version is the one before it, encrypted to other recipients.
        public var isReencryption: Bool
        let blob: ObjectID
    }

    /// Of each secret all versions, newest first; another name is no new version.
    public func textVersions() throws(Failure) -> [FilePath: [TextVersion]] {
        do throws(GitError) {
            let found = try repository.versions(below: FilePath(), from: tip) {
                CommitMessage.isReencryption($0.message)
            }
            return found.filter { $0.key.isSecretName }.mapValues { versions in
                versions.map { TextVersion(time: $0.time, isReencryption: $0.isLeftOut, blob: $0.id) }
            }
        } catch {
            throw Failure(message: "cannot read the history: \(error.message).")
        }
    }

    /// Whether a version is what lies on disk now; decrypts nothing.
    public func isOnDisk(_ version: TextVersion, of secret: FilePath) -> Bool {
        guard let now = try? store.read(secret, limit: store.options.ciphertextLimit) else { return false }
        return (try? Repository.blobID(of: now)) == version.blob
    }

    /// The text of a version.
    /// - Parameter mayAsk: whether a person may be asked for a passphrase.
    public func plaintext(
        of version: TextVersion, mayAsk: Bool, cancellation: Cancellation?
    ) throws(StoreError) -> SecretBytes {
        try plaintext(of: version.blob, mayAsk: mayAsk, cancellation: cancellation)
    }

    /// Whether git has a ciphertext.
    /// - Parameter content: its name as a blob, as of `Store.contentID`.
    public func holds(_ content: String) -> Bool {
        guard let blob = ObjectID(hex: content) else { return false }
        return (try? repository.blobSize(blob)) != nil
    }

    /// The text of a ciphertext that git has.
    /// - Parameter content: as of `holds`.
    public func plaintext(
        ofContent content: String, mayAsk: Bool, cancellation: Cancellation?
    ) throws(StoreError) -> SecretBytes {
        guard let blob = ObjectID(hex: content) else {
            throw StoreError(.system(.invalidArgument), "\"\(content)\" is no name of a blob.")
        }
        return try plaintext(of: blob, mayAsk: mayAsk, cancellation: cancellation)
    }

    private func plaintext(
        of blob: ObjectID, mayAsk: Bool, cancellation: Cancellation?
    ) throws(StoreError) -> SecretBytes {
        let ciphertext = try StoreError.wrapping {
            try repository.blob(blob, atMost: store.options.ciphertextLimit)
        }
        return try StoreError.wrapping {
            try ciphertext.withUnsafeBytes { bytes in
                try store.engine.decrypt(
                    bytes, limit: store.options.secretLimit, timeout: store.options.promptTimeout,
                    cancellation: cancellation, mayAsk: mayAsk)
            }
        }
    }
}
