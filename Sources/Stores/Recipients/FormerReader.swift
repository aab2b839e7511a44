import Git
import System
public import SystemPackage

/// Somebody who could read secrets until a change of recipients that was made here, and which: they may know the passwords
/// until these are changed.
public struct FormerReader: Sendable, Equatable, Codable {
    /// A secret that they could read.
    public struct Secret: Sendable, Hashable, Codable {
        /// The file, relative to the store.
        public var path: String
        /// Its ciphertext, as it was encrypted without them: the name that git has for it as a blob.
        public var content: String
        /// When that was, in seconds since 1970.
        public var since: Int64
        /// Whether its password was changed since.
        public var isChanged = false
    }

    /// The fingerprint of their key, or the id of one that is not in the keyring.
    public var key: String
    /// The user id of that key; empty where it is not known.
    public var name: String
    /// The ids by which secrets are encrypted to them, in hexadecimal digits.
    public var keyIDs: [String]
    /// What they could read.
    public var secrets: [Secret]

    /// Whether a message with these ids is for them.
    public func canRead(_ ids: [UInt64]) -> Bool {
        ids.contains { keyIDs.contains(String($0, radix: 16)) }
    }
}

extension Store {
    /// The name that git has for a file as a blob; nil where it cannot be read.
    public func contentID(of file: FilePath) -> String? {
        guard let bytes = try? read(file, limit: options.ciphertextLimit) else { return nil }
        return (try? Repository.blobID(of: bytes))?.hex
    }
}
