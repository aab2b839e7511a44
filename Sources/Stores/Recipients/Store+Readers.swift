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
        let ids = try recipientKeyIDs(of: secret)
        let known = ids.filter { $0 != 0 }
        guard !known.isEmpty else { return ids.map { Reader(keyID: $0, key: nil) } }
        return try StoreError.wrapping {
            let keys = try engine.keys(matching: known.map(Self.hexadecimal), secretOnly: false)
            return ids.map { id in
                Reader(keyID: id, key: keys.first { $0.subkeys.contains { $0.keyID == id } })
            }
        }
    }

    /// The ids of the keys of ours that a secret is encrypted to; 0 for a hidden recipient, which may be one. Nobody is asked
    /// for anything.
    public func ownKeyIDs(of secret: FilePath) -> Set<UInt64> {
        guard let ids = try? Set(recipientKeyIDs(of: secret)) else { return [] }
        let known = ids.filter { $0 != 0 }.sorted()
        let keys =
            known.isEmpty ? [] : try? engine.keys(matching: known.map(Self.hexadecimal), secretOnly: true)
        let ours = (keys ?? []).flatMap(\.subkeys).filter(\.hasSecret).map(\.keyID)
        return ids.intersection(ours + [0])
    }

    /// The ids of all keys of ours.
    public func allOwnKeyIDs() throws(StoreError) -> Set<UInt64> {
        let keys = try StoreError.wrapping { try engine.keys(matching: [], secretOnly: true) }
        return Set(keys.flatMap(\.subkeys).filter(\.hasSecret).map(\.keyID))
    }

    /// Those secrets that a key of ours may decrypt, the likeliest first: those that name one, those whose recipients are
    /// hidden or that have a passphrase of their own, for which gpg asks first, and those that cannot be looked at, of which
    /// reading them says why. Nobody is asked for anything.
    public func likelyReadable(_ secrets: [FilePath]) throws(StoreError) -> [FilePath] {
        guard !secrets.isEmpty else { return [] }
        let mine = try allOwnKeyIDs()
        var (named, unusual, unknown): ([FilePath], [FilePath], [FilePath]) = ([], [], [])
        for secret in secrets {
            do throws(StoreError) {
                guard try !isTooLarge(secret) else {
                    unknown.append(secret)
                    continue
                }
                let head = try head(of: secret)
                let namesUs = !mine.isDisjoint(with: head.keyIDs)
                if namesUs, !head.hasOwnPassphrase {
                    named.append(secret)
                } else if namesUs || head.keyIDs.contains(0) {
                    unusual.append(secret)
                }
            } catch {
                // One that has just gone says nothing.
                if error.code != .system(.noSuchFileOrDirectory) { unknown.append(secret) }
            }
        }
        return named + unusual + unknown
    }

    /// Whether a ciphertext is not even read.
    private func isTooLarge(_ secret: FilePath) throws(StoreError) -> Bool {
        do throws(Errno) {
            return try root.status(of: secret).identity.size > Int64(options.ciphertextLimit)
        } catch { throw StoreError(error, "read", secret) }
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
