import CLinux
import Glibc
import System
public import SystemPackage

/// An extended attribute of a ciphertext that was made from another one without a change of its plaintext: it names
/// the identities of those before it.
///
/// Who holds the plaintext of an older one, such as a mount with the secret open in an editor, sees by it that nobody
/// else has changed the secret. Where the file system has no extended attributes, the secret counts as changed.
enum ReencryptionMark {
    private static let name = "user.passdir.replaces"
    /// How many earlier ciphertexts are named.
    private static let most = 8

    static func set(
        on descriptor: CInt, replacing old: CiphertextIdentity, of secret: FilePath, in root: Root
    ) {
        let earlier = of(secret, in: root)
        let text = ([text(of: old)] + earlier).prefix(most).joined(separator: " ")
        _ = text.withCString { fsetxattr(descriptor, name, $0, strlen($0), 0) }
    }

    static func of(_ secret: FilePath, in root: Root) -> [String] {
        do {
            let file = try root.openToLook(secret)
            return get(file.raw)
        } catch {
            return []
        }
    }

    private static func get(_ descriptor: CInt) -> [String] {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = buffer.withUnsafeMutableBytes { fgetxattr(descriptor, name, $0.baseAddress, $0.count) }
        guard count > 0 else { return [] }
        return String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ").map(String.init)
    }

    static func text(of identity: CiphertextIdentity) -> String {
        "\(identity.device).\(ContentIdentity(identity).text)"
    }
}

extension Store {
    /// Whether the ciphertext that lies at `secret` now was made from the one of this identity by encrypting the very
    /// same plaintext to other recipients.
    public func isReencryption(of old: CiphertextIdentity, at secret: FilePath) -> Bool {
        ReencryptionMark.of(secret, in: root).contains(ReencryptionMark.text(of: old))
    }

    /// Whether the ciphertext that lies at `secret` was made from another one by encrypting the very same plaintext to
    /// other recipients.
    public func isReencryption(at secret: FilePath) -> Bool {
        !ReencryptionMark.of(secret, in: root).isEmpty
    }
}
