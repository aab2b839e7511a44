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

    /// Why nothing can be encrypted by some of the store's lists, as a sentence; nil where it can by all. Looks at the first
    /// hundred, and asks nobody for anything.
    /// - Parameter unapproved: lists that others have changed: their keys are nothing to be imported.
    public func objectionToLists(unapproved: Set<FilePath> = []) -> String? {
        guard options.recipientOverride == nil else { return nil }
        let files = ((try? recipientFiles(below: FilePath())) ?? []).prefix(100)
        let found = files.compactMap { file in
            objection(to: file, isApproved: !unapproved.contains(file)).map { (file: file, sentence: $0) }
        }
        // What is wrong with the store's own list stops most of it.
        guard let first = found.first(where: { $0.file.components.count == 1 }) ?? found.first else {
            return nil
        }
        guard first.file.components.count > 1, found.count < files.count else { return first.sentence }
        let folder = first.file.removingLastComponent()
        let others = found.count - 1
        let more = others == 0 ? "" : " and \(others.counted("other folder"))"
        return "\(Self.objectionInPart)\(name)/\(folder)\(more), and works elsewhere: \(first.sentence)"
    }

    /// How an objection begins that is none to saving to all of a store.
    public static let objectionInPart = "only in "

    private func objection(to file: FilePath, isApproved: Bool) -> String? {
        do throws(StoreError) {
            let lines = try recipientLines(of: file)
            guard isApproved else {
                var recipients: [Recipient] = []
                do throws(OpenPGPError) {
                    for line in lines { recipients += try engine.resolve(line, askingAgent: false) }
                } catch {
                    // Not how to import the key, which is whose name others have put there.
                    throw StoreError(.openPGP(error.code), error.message)
                }
                try checkUsable(recipients, in: nil)
                return nil
            }
            try checkUsable(try resolve(lines, askingAgent: false), in: file)
            return nil
        } catch {
            guard !isApproved else { return error.message }
            let why = VisibleText.cut(
                error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message, atMost: 600)
            return
                "\(why), and you have not approved this list: passdir recipients confirm \(ShellWord.quoted(name)) "
                + "shows who changed it and how to refuse it"
        }
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
