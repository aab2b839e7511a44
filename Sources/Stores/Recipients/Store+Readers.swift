import Glibc
public import OpenPGP
import System
public import SystemPackage

/// A key that a secret is encrypted to, as its packets name it.
public struct Reader: Sendable, Hashable {
    /// The id of the encryption sub-key; 0 when the recipient is hidden.
    public var keyID: UInt64
    /// The key of the keyring that has this sub-key; nil when the keyring has none.
    public var key: Key?
}

extension Store {
    /// Who can read a secret as it lies on disk: what its packets say, not what `.gpg-id` asks for. Needs no secret
    /// key and asks for no passphrase.
    public func readers(of secret: FilePath) throws(StoreError) -> [Reader] {
        let ids = try StoreError.wrapping("read the recipients of", secret) {
            let file = try root.open(secret, flags: O_RDONLY | O_NONBLOCK)
            let size = try file.status().identity.size
            return try Packets.recipientKeyIDs(fileSize: size) { (offset, count) throws(Errno) in
                try file.read(at: offset, count: count)
            }
        }
        let known = ids.filter { $0 != 0 }
        guard !known.isEmpty else { return ids.map { Reader(keyID: $0, key: nil) } }
        return try StoreError.wrapping {
            let keys = try engine.keys(matching: known.map(Self.hexadecimal), secretOnly: false)
            return ids.map { id in
                Reader(keyID: id, key: keys.first { $0.subkeys.contains { $0.keyID == id } })
            }
        }
    }

    private static func hexadecimal(_ id: UInt64) -> String {
        let digits = String(id, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Reader: CustomStringConvertible {
    /// The fingerprint and first user id, or what is known in place of them.
    public var description: String {
        guard let key else {
            let digits = String(keyID, radix: 16, uppercase: true)
            return keyID == 0 ? "hidden recipient" : "\(digits) (not in the keyring)"
        }
        return ([key.fingerprint.description] + key.userIDs.prefix(1).map(\.text)).joined(separator: " ")
    }
}
