import Git
import Glibc
public import OpenPGP
import System
public import SystemPackage

/// Who a secret is encrypted to, and which file says so.
public struct RecipientList: Sendable, Equatable {
    /// The `.gpg-id` that applies, relative to the store; nil when PASSWORD_STORE_KEY overrides it.
    public var file: FilePath?
    /// The keys, pinned to their fingerprints, each key once.
    public var recipients: [Recipient]

    /// A list of its parts.
    public init(file: FilePath?, recipients: [Recipient]) {
        self.file = file
        self.recipients = recipients
    }
}

extension Store {
    /// The name of the file that lists the recipients of a folder.
    public static let recipientFileName: FilePath.Component = ".gpg-id"
    /// Whether a path is that of a `.gpg-id`: a file that is shown like a secret but is not encrypted.
    public static func isRecipientFile(_ path: FilePath) -> Bool {
        path.lastComponent == recipientFileName
    }

    /// The name of its signature.
    public static let signatureFileName: FilePath.Component = ".gpg-id.sig"

    /// The `.gpg-id` that applies to a secret: the nearest one, from the secret's own folder upwards to the
    /// store's.
    public func recipientFile(for secret: FilePath) throws(StoreError) -> FilePath {
        var directory = secret.removingLastComponent()
        while true {
            let candidate = directory.appending(Self.recipientFileName)
            do {
                // As pass's `-f`: a folder of that name is none. A link is one, and is refused when it is read.
                if let status = try root.statusIfPresent(of: candidate), status.kind != .directory {
                    return candidate
                }
            } catch .notDirectory {
                // A folder of the path is gone; the next one up decides.
            } catch .noSuchFileOrDirectory {
            } catch {
                throw StoreError(error, "look for", candidate)
            }
            guard directory.removeLastComponent() else {
                throw StoreError(
                    .noRecipients,
                    "the store \"\(name)\" has no .gpg-id\(Self.isRecipientFile(secret) ? "" : " above \(secret.string)"), "
                        + "so there is nobody to encrypt to: passdir recipients set \(ShellWord.quoted(name)) KEY writes one, or "
                        + "\(StoreRepositories.adviceForMissingList(in: root.path)).")
            }
        }
    }

    /// The `.gpg-id` that would apply to a folder if it had none of its own.
    public func inheritedFile(of folder: FilePath) throws(StoreError) -> RecipientFile {
        guard !folder.isEmpty else {
            throw StoreError(
                .badRecipientFile,
                "nothing is above the store \"\(name)\": without its .gpg-id there would be nobody to encrypt to."
            )
        }
        return try recipientFileContent(try recipientFile(for: folder))
    }

    /// Whether a folder has a `.gpg-id` of its own.
    public func hasOwnList(_ folder: FilePath) throws(StoreError) -> Bool {
        let list = folder.appending(Self.recipientFileName)
        return try recipientFile(for: list) == list
    }

    /// Removes the `.gpg-id` of a folder, with its signature; durable on return.
    /// - Returns: the files that are gone.
    public func removeList(of folder: FilePath) throws(StoreError) -> [FilePath] {
        let list = folder.appending(Self.recipientFileName)
        try forgetAgreement(to: list)
        var gone: [FilePath] = []
        for file in [list, folder.appending(Self.signatureFileName)] {
            do throws(Errno) {
                guard try root.statusIfPresent(of: file) != nil else { continue }
                try root.unlink(file)
                try root.synchronizeParent(of: file)
            } catch {
                throw StoreError(error, "remove", file)
            }
            gone.append(file)
        }
        return gone
    }

    /// The recipients of a secret: PASSWORD_STORE_KEY where it is set, else the nearest `.gpg-id`; those are refused
    /// that nobody agreed to, where `recipients.confirm` asks for that.
    public func recipients(for secret: FilePath) throws(StoreError) -> RecipientList {
        let list = try list(for: secret)
        try checkConfirmed(list, for: secret)
        return list
    }

    /// As `recipients(for:)`, by a list that is about to lie in `file`.
    public func recipients(
        for secret: FilePath, by file: FilePath, holding bytes: [UInt8], signature: [UInt8]?
    ) throws(StoreError) -> RecipientList {
        guard options.recipientOverride == nil else { return try recipients(for: secret) }
        try verifySignature(
            signature, of: bytes, file.removingLastComponent().appending(Self.signatureFileName))
        let lines = try lines(of: try parsed(bytes, file), file)
        let list = RecipientList(file: file, recipients: try resolve(lines, askingAgent: false))
        try checkConfirmed(list, for: secret)
        return list
    }

    /// As `recipients`, whether anybody has agreed to them or not: to look at, not to encrypt to.
    ///
    /// Where signing keys are configured, the `.gpg-id` must carry a good signature in `.gpg-id.sig`; the bytes that
    /// were verified are the bytes that are parsed. gpg-agent is not asked: `hasSecret` of the keys is false, and an agent
    /// that does not answer holds no save up.
    public func list(for secret: FilePath) throws(StoreError) -> RecipientList {
        if let override = options.recipientOverride {
            let names = override.split(separator: " ").map(String.init)
            return RecipientList(file: nil, recipients: try resolve(names, askingAgent: false))
        }
        let file = try recipientFile(for: secret)
        let lines = try recipientLines(of: file)
        return RecipientList(file: file, recipients: try resolve(lines, askingAgent: false))
    }

    /// The lines of a `.gpg-id` that was read and, where that is asked for, verified; never none.
    func recipientLines(of file: FilePath) throws(StoreError) -> [String] {
        try lines(of: try recipientFileContent(file), file)
    }

    private func lines(of content: RecipientFile, _ file: FilePath) throws(StoreError) -> [String] {
        guard !content.lines.isEmpty else {
            throw StoreError(
                .badRecipientFile,
                "\(file.string) of the store \"\(name)\" names nobody: write one key per line.")
        }
        return content.lines
    }

    /// A `.gpg-id`, read and, where that is asked for, verified.
    /// - Parameter isVerified: false to look at whom a file names that must not be used.
    public func recipientFileContent(
        _ file: FilePath, isVerified: Bool = true
    ) throws(StoreError) -> RecipientFile {
        let bytes: [UInt8]
        do {
            bytes = try read(file, limit: TreeBounds.recipients)
        } catch .tooManySymbolicLinkLevels {
            throw StoreError(
                .badRecipientFile,
                "\(file.string) of the store \"\(name)\" is a symbolic link, which could name recipients "
                    + "outside the store's control: replace it with a file.")
        } catch {
            throw StoreError(
                .badRecipientFile, "cannot read \(file.string) of the store \"\(name)\": \(error).")
        }
        if isVerified { try verifySignature(of: bytes, file) }
        return try parsed(bytes, file)
    }

    private func parsed(_ bytes: [UInt8], _ file: FilePath) throws(StoreError) -> RecipientFile {
        guard let content = RecipientFile(parsing: bytes) else {
            throw StoreError(
                .badRecipientFile,
                "\(file.string) of the store \"\(name)\" is not UTF-8 text: write one key per line.")
        }
        try checkCount(content, of: file)
        return content
    }

    /// Refuses a list of more keys than a message may have recipients: each line may start a gpg process.
    public func checkCount(_ content: RecipientFile, of file: FilePath) throws(StoreError) {
        guard content.lines.count > Packets.maximalRecipients else { return }
        throw StoreError(
            .badRecipientFile,
            "\(file.string) of the store \"\(name)\" has \(content.lines.count) recipients, more than "
                + "\(Packets.maximalRecipients): a secret cannot be encrypted to that many.")
    }

    /// The keys that lines mean, each key once.
    /// - Parameter askingAgent: Whether it matters which of them have a secret part here.
    func resolve(_ lines: [String], askingAgent: Bool = true) throws(StoreError) -> [Recipient] {
        var found: [Recipient] = []
        for line in lines {
            let meant: [Recipient]
            do throws(OpenPGPError) {
                meant = try engine.resolve(line, askingAgent: askingAgent)
            } catch  where error.code == .missingKey && !error.isAdvice {
                throw StoreError(.openPGP(error.code), "\(error.message): \(remedyForMissingKey)")
            } catch {
                throw StoreError(error)
            }
            for recipient in meant
            where !found.contains(where: {
                $0.key.fingerprint == recipient.key.fingerprint && $0.subkey == recipient.subkey
            }) {
                found.append(recipient)
            }
        }
        return found
    }

    /// As `resolve`, and every key can be encrypted to right now.
    func usableRecipients(_ lines: [String]) throws(StoreError) -> [Recipient] {
        let recipients = try resolve(lines)
        try checkUsable(recipients, in: nil)
        return recipients
    }

    /// - Parameter file: the list that names them; nil where none does yet.
    func checkUsable(_ recipients: [Recipient], in file: FilePath?) throws(StoreError) {
        let now = Int64(time(nil))
        for recipient in recipients {
            guard let error = recipient.objection(at: now, trust: options.trust) else { continue }
            guard let file, error.code == .expiredKey else { throw StoreError(error) }
            if let renewal = renewal(of: recipient) {
                throw StoreError(.openPGP(error.code), "\(error.message): \(renewal) renews it")
            }
            let folder = file.removingLastComponent()
            let place = ShellWord.quoted(folder.isEmpty ? name : "\(name)/\(folder)")
            throw StoreError(
                .openPGP(error.code),
                "\(error.message): once it is renewed, passdir keys import FILE --store \(ShellWord.quoted(name)) "
                    + "imports it; passdir recipients remove \(place) \(recipient.key.fingerprint) goes on without it"
            )
        }
    }

    /// The command by which the user renews a key that has expired; nil where the key is somebody else's.
    private func renewal(of recipient: Recipient) -> String? {
        // The list may have been read without a question to gpg-agent.
        let found = try? engine.resolve(recipient.key.fingerprint.description)
        return found?.first(where: \.isSurelyOwn).map { $0.key.renewal(in: engine.home) }
    }

    /// Refuses where a save of this secret could only fail, as things are: for whom it is to be is not known, not agreed to, or
    /// cannot be encrypted to.
    public func checkCanEncrypt(_ secret: FilePath) throws(StoreError) {
        let list = try recipients(for: secret)
        try checkUsable(list.recipients, in: list.file)
    }
}
