public import OpenPGP
public import SystemPackage

/// Who a secret is encrypted to, and which file says so.
public struct RecipientList: Sendable, Equatable {
    /// The `.gpg-id` that applies, relative to the store; nil when PASSWORD_STORE_KEY overrides it.
    public var file: FilePath?
    /// The keys, pinned to their fingerprints, each key once.
    public var recipients: [Recipient]
}

extension Store {
    /// The name of the file that lists the recipients of a folder.
    public static let recipientFileName: FilePath.Component = ".gpg-id"

    /// The `.gpg-id` that applies to a secret: the nearest one, from the secret's own folder upwards to the
    /// store's.
    public func recipientFile(for secret: FilePath) throws(StoreError) -> FilePath {
        var directory = secret.removingLastComponent()
        while true {
            let candidate = directory.appending(Self.recipientFileName)
            do {
                if try root.statusIfPresent(of: candidate) != nil { return candidate }
            } catch .notDirectory {
                // A folder of the path is gone; the next one up decides.
            } catch .noSuchFileOrDirectory {
            } catch {
                throw StoreError(error, "look for", candidate)
            }
            guard directory.removeLastComponent() else {
                throw StoreError(
                    .noRecipients,
                    "the store \"\(name)\" has no .gpg-id above \(secret.string), so nobody is named to encrypt it "
                        + "to: run pass init, or write a key into \(root.path.appending(".gpg-id").string).")
            }
        }
    }

    /// The recipients of a secret: PASSWORD_STORE_KEY where it is set, else the nearest `.gpg-id`.
    ///
    /// Where signing keys are configured, the `.gpg-id` must carry a good signature in `.gpg-id.sig`; the bytes that
    /// were verified are the bytes that are parsed.
    public func recipients(for secret: FilePath) throws(StoreError) -> RecipientList {
        if let override = options.recipientOverride {
            let names = override.split(separator: " ").map(String.init)
            return RecipientList(file: nil, recipients: try resolve(names))
        }
        let file = try recipientFile(for: secret)
        let bytes: [UInt8]
        do {
            bytes = try read(file, limit: 1 << 20)
        } catch {
            throw StoreError(
                .badRecipientFile, "cannot read \(file.string) of the store \"\(name)\": \(error).")
        }
        try verifySignature(of: bytes, file)
        guard let lines = RecipientFile(parsing: bytes)?.lines else {
            throw StoreError(
                .badRecipientFile,
                "\(file.string) of the store \"\(name)\" is not UTF-8 text: write one key a line.")
        }
        guard !lines.isEmpty else {
            throw StoreError(
                .badRecipientFile,
                "\(file.string) of the store \"\(name)\" names nobody: write one key a line.")
        }
        return RecipientList(file: file, recipients: try resolve(lines))
    }

    private func resolve(_ lines: [String]) throws(StoreError) -> [Recipient] {
        var found: [Recipient] = []
        for line in lines {
            do {
                for recipient in try engine.resolve(line)
                where !found.contains(where: {
                    $0.key.fingerprint == recipient.key.fingerprint && $0.subkey == recipient.subkey
                }) {
                    found.append(recipient)
                }
            } catch {
                throw StoreError(error)
            }
        }
        return found
    }

    private func verifySignature(of bytes: [UInt8], _ file: FilePath) throws(StoreError) {
        guard !options.signingKeys.isEmpty else { return }
        let signatureFile = file.removingLastComponent().appending(".gpg-id.sig")
        let signature: [UInt8]
        do {
            signature = try read(signatureFile, limit: 1 << 20)
        } catch {
            throw StoreError(
                .badSignature,
                "the signature \(signatureFile.string) of the store \"\(name)\" cannot be read: \(error).")
        }
        let signers: [Fingerprint]
        do {
            signers = try engine.verifyDetached(signature: signature, of: bytes)
        } catch {
            throw StoreError(
                .badSignature,
                "the signature \(signatureFile.string) of the store \"\(name)\" is not good: \(error.message)"
            )
        }
        guard signers.contains(where: { options.signingKeys.contains($0.description) }) else {
            throw StoreError(
                .badSignature,
                "\(signatureFile.string) of the store \"\(name)\" is not signed by a key of "
                    + "PASSWORD_STORE_SIGNING_KEY.")
        }
    }
}
