import Git
import Glibc
import OpenPGP
import Stores
import SystemPackage

/// Settles one secret that both sides changed, on its plaintext, in secret memory. Blocks, and may ask for a
/// passphrase: not on the committer's thread.
struct SecretMerge: Sendable {
    /// How it is settled.
    enum Outcome: Sendable {
        /// Both sides' changes fit: the new content of the file.
        case merged([UInt8])
        /// The remote's version is what both want.
        case theirs
        /// Our version is what both want.
        case ours
        /// They do not fit, or nobody here can tell: both versions stay.
        case both
        /// A key is locked: later. The sentence has no full stop.
        case later(String)
        /// Nothing may be encrypted to the recipients now: later. The sentence has no full stop.
        case refused(String)
    }

    let store: Store
    /// Relative to the store.
    let path: FilePath
    let base: [UInt8]?
    let ours: [UInt8]
    let theirs: [UInt8]

    func settle() -> Outcome {
        path.string.hasSuffix(".gpg") ? settleSecret() : settlePlain()
    }

    /// A file that is no secret, such as a README.
    private func settlePlain() -> Outcome {
        guard let base else { return .both }
        let merged: SecretBytes?? = base.withUnsafeBytes { base in
            ours.withUnsafeBytes { ours in
                theirs.withUnsafeBytes { theirs in
                    guard [base, ours, theirs].allSatisfy(TextMerge.isText) else { return nil }
                    return try? TextMerge.merge(base: base, ours: ours, theirs: theirs)
                }
            }
        }
        guard let merged = merged ?? nil else { return .both }
        return .merged(merged.withUnsafeBytes { Array($0) })
    }

    private func settleSecret() -> Outcome {
        let plain: (base: SecretBytes?, ours: SecretBytes, theirs: SecretBytes)
        do throws(OpenPGPError) {
            let ours = try decrypted(self.ours)
            plain = (
                try base.map { (b) throws(OpenPGPError) in try decrypted(b) }, ours, try decrypted(theirs)
            )
        } catch {
            switch error.code {
            case .badPassphrase, .canceled, .declined, .timedOut, .noPinentry, .agentUnavailable:
                return .later(error.message)
            default: return .both
            }
        }
        return plain.ours.withUnsafeBytes { ours in
            plain.theirs.withUnsafeBytes { theirs in
                if Self.same(ours, theirs) { return .theirs }
                guard let base = plain.base else { return .both }
                return base.withUnsafeBytes { settle($0, ours, theirs) }
            }
        }
    }

    private func settle(
        _ base: UnsafeRawBufferPointer, _ ours: UnsafeRawBufferPointer, _ theirs: UnsafeRawBufferPointer
    ) -> Outcome {
        // Encrypted anew only, on one side.
        if Self.same(base, ours) { return .theirs }
        if Self.same(base, theirs) { return .ours }
        guard [base, ours, theirs].allSatisfy(TextMerge.isText),
            let merged = try? TextMerge.merge(base: base, ours: ours, theirs: theirs)
        else { return .both }
        do throws(StoreError) {
            return .merged(try encrypted(merged))
        } catch {
            switch error.code {
            case .unconfirmedRecipients, .badSignature, .openPGP(.untrustedKey):
                // The user's word is missing, which can still come; both would be a conflict for nothing.
                let reason = error.message
                return .refused(reason.hasSuffix(".") ? String(reason.dropLast()) : reason)
            default:
                // Nobody can be encrypted to right now; nothing is lost with both.
                return .both
            }
        }
    }

    /// By the rules of a save: the same recipients, the same trust, the same agreement.
    private func encrypted(_ plaintext: SecretBytes) throws(StoreError) -> [UInt8] {
        let recipients = try store.recipients(for: path).recipients
        do {
            return try store.engine.encrypt(plaintext, to: recipients, trust: store.options.trust)
        } catch {
            throw StoreError(error)
        }
    }

    private func decrypted(_ ciphertext: [UInt8]) throws(OpenPGPError) -> SecretBytes {
        try store.engine.decrypt(
            ciphertext, limit: store.options.secretLimit, timeout: store.options.promptTimeout)
    }

    private static func same(_ one: UnsafeRawBufferPointer, _ two: UnsafeRawBufferPointer) -> Bool {
        guard one.count == two.count else { return false }
        guard let first = one.baseAddress, let second = two.baseAddress else { return true }
        return memcmp(first, second, one.count) == 0
    }
}
