public import OpenPGP
import System
public import SystemPackage

/// Lists by which nothing can be encrypted, and what helps.
extension Store {
    /// Where public keys lie that a store brings along: a file, or a folder of files.
    public static let publicKeysName: FilePath = ".public-keys"

    /// How a key comes into the store's keyring, as the rest of a sentence.
    var remedyForMissingKey: String {
        let name = ShellWord.quoted(name)
        let brings = (try? root.status(of: Self.publicKeysName)) != nil
        return (brings ? "passdir keys import \(name) imports what its .public-keys holds, " : "")
            + "passdir keys import FILE --store \(name) imports one"
    }

    /// Why nothing can be encrypted by one of the store's lists, as a sentence; nil where it can by all. Looks at the first
    /// hundred, and asks nobody for anything.
    public func objectionToLists() -> String? {
        guard options.recipientOverride == nil else { return nil }
        for file in ((try? recipientFiles(below: FilePath())) ?? []).prefix(100) {
            do throws(StoreError) {
                try checkUsable(try resolve(try recipientLines(of: file), askingAgent: false), in: file)
            } catch {
                return error.message
            }
        }
        return nil
    }

    /// As `list(for:)`, without the names that mean no key here.
    /// - Returns: also whether all mean one.
    public func knownList(for secret: FilePath) throws(StoreError) -> (list: RecipientList, isWhole: Bool) {
        guard options.recipientOverride == nil else { return (try list(for: secret), true) }
        let file = try recipientFile(for: secret)
        let lines = try recipientLines(of: file)
        let meant = lines.map { try? resolve([$0], askingAgent: false) }
        return (RecipientList(file: file, recipients: meant.flatMap { $0 ?? [] }), !meant.contains(nil))
    }

    /// The keys of those names in the text of a list that mean one here.
    public func knownRecipients(in list: [UInt8]) -> [Recipient] {
        (RecipientFile(parsing: list)?.lines ?? []).prefix(Packets.maximalRecipients).flatMap {
            (try? resolve([$0], askingAgent: false)) ?? []
        }
    }
}
