import Git
import OpenPGP
import System
import SystemPackage

/// `.gpg-id.sig`: who may say who the recipients are, by pass's rule (PASSWORD_STORE_SIGNING_KEY).
extension Store {
    /// Checks the signature of a `.gpg-id`; where no signing key is configured there is nothing to check.
    func verifySignature(of bytes: [UInt8], _ file: FilePath) throws(StoreError) {
        guard !options.signingKeys.isEmpty else { return }
        let signatureFile = file.removingLastComponent().appending(Self.signatureFileName)
        let signature: [UInt8]
        do {
            signature = try read(signatureFile, limit: TreeBounds.recipients)
        } catch {
            throw StoreError(
                .badSignature,
                "the signature \(signatureFile.string) of the store \"\(name)\" cannot be read: \(error).")
        }
        try verifySignature(signature, of: bytes, signatureFile)
    }

    /// Checks a signature that is to lie in `signatureFile`; nil where there is none.
    func verifySignature(
        _ signature: [UInt8]?, of bytes: [UInt8], _ signatureFile: FilePath
    ) throws(StoreError) {
        guard !options.signingKeys.isEmpty else { return }
        guard let signature else {
            throw StoreError(
                .badSignature,
                "\(signatureFile.string) of the store \"\(name)\" is missing: sign the .gpg-id.")
        }
        let signers: [Fingerprint]
        do {
            signers = try engine.verifyDetached(signature: signature, of: bytes)
        } catch {
            throw StoreError(
                .badSignature,
                "the signature \(signatureFile.string) of the store \"\(name)\" is not valid: \(error.message)."
            )
        }
        guard signers.contains(where: { options.signingKeys.contains($0.description) }) else {
            let who = signers.first.map { "it was made by \($0), not by" } ?? "it was not made by"
            throw StoreError(
                .badSignature,
                "\(signatureFile.string) of the store \"\(name)\" is not accepted: \(who) one of the signing keys "
                    + "\(options.signingKeys.joined(separator: " ")).")
        }
    }

    /// Signs a new `.gpg-id` with the first signing key whose secret part is here; nil where no signing key is
    /// configured. May ask for a passphrase.
    func sign(_ bytes: [UInt8], cancellation: Cancellation?) throws(StoreError) -> [UInt8]? {
        guard !options.signingKeys.isEmpty else { return nil }
        return try StoreError.wrapping {
            let keys = try engine.keys(matching: options.signingKeys, secretOnly: true)
            let mine = options.signingKeys.compactMap(Fingerprint.init).first { signer in
                keys.contains { $0.subkeys.contains { $0.fingerprint == signer && $0.hasSecret } }
            }
            guard let mine else {
                throw OpenPGPError(
                    .noSecretKey,
                    "the new .gpg-id must be signed by \(options.signingKeys.joined(separator: " or ")), "
                        + "and you have the secret key of none of these")
            }
            return try engine.signDetached(
                bytes, by: mine, timeout: options.promptTimeout, cancellation: cancellation)
        }
    }
}
