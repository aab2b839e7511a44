import Git
import Glibc
import OpenPGP
import Stores
import System
import SystemPackage

/// Merges one secret that both sides changed, on its plaintext, in secret memory. Blocks, and may ask for a
/// passphrase unless the store is locked: not on the committer's thread.
struct SecretMerge: Sendable {
    /// What came of it.
    enum Outcome: Sendable {
        /// Both sides' changes fit: the new content of the file, a blob.
        case merged(ObjectID)
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
    /// The git folder with the blobs. The repository is opened anew where it is used: one that another thread has is
    /// not for this one.
    let repository: FilePath
    /// The blobs are read when it is their turn: of many secrets that both sides changed only one is in memory.
    let collision: TreeMerge.Collision
    /// The list that counts once the merge is taken in; nil where it lies in the store.
    let list: MergedLists.List?

    func run() -> Outcome {
        let (ours, theirs) = (collision.ours, collision.theirs)
        // Two links, or two submodules, have no content that could be merged.
        guard ours.isFile, theirs.isFile else { return .both }
        let base = collision.base.flatMap { $0.isFile ? $0.id : nil }
        do throws(GitError) {
            let repository = try Repository.open(gitDirectory: repository)
            let limit = store.options.ciphertextLimit
            for id in [base, ours.id, theirs.id] {
                // What nobody can decrypt here is not read: both stay.
                if let id, try repository.blobSize(id) > limit { return .both }
            }
            let content = Content(
                base: try base.map { (id) throws(GitError) in try repository.blob(id, atMost: limit) },
                ours: try repository.blob(ours.id, atMost: limit),
                theirs: try repository.blob(theirs.id, atMost: limit))
            switch path.isSecretName ? mergeSecret(content) : mergePlain(content) {
            case .decided(let outcome): return outcome
            case .merged(let bytes): return .merged(try repository.writeBlob(bytes))
            }
        } catch {
            return .later(error.message)
        }
    }

    /// What the three blobs hold.
    private struct Content {
        let base: [UInt8]?
        let ours: [UInt8]
        let theirs: [UInt8]
    }

    /// An outcome, or the new content that is still to be written.
    private enum Result {
        case decided(Outcome)
        case merged([UInt8])
    }

    /// A file that is no secret, such as a README.
    private func mergePlain(_ content: Content) -> Result {
        guard let base = content.base else { return .decided(.both) }
        let merged: SecretBytes?? = base.withUnsafeBytes { base in
            content.ours.withUnsafeBytes { ours in
                content.theirs.withUnsafeBytes { theirs in
                    guard [base, ours, theirs].allSatisfy(TextMerge.isText) else { return nil }
                    return try? TextMerge.merge(base: base, ours: ours, theirs: theirs)
                }
            }
        }
        guard let merged = merged ?? nil else { return .decided(.both) }
        return .merged(merged.withUnsafeBytes { Array($0) })
    }

    private func mergeSecret(_ content: Content) -> Result {
        let plain: (base: SecretBytes?, ours: SecretBytes, theirs: SecretBytes)
        do throws(OpenPGPError) {
            let ours = try decrypted(content.ours)
            plain = (
                try content.base.map { (b) throws(OpenPGPError) in try decrypted(b) }, ours,
                try decrypted(content.theirs)
            )
        } catch {
            switch error.code {
            case .badPassphrase, .canceled, .declined, .timedOut, .noPinentry, .agentUnavailable:
                return .decided(.later(error.message))
            default: return .decided(.both)
            }
        }
        return plain.ours.withUnsafeBytes { ours in
            plain.theirs.withUnsafeBytes { theirs in
                if ours.holdsSame(as: theirs) { return taken(.theirs, content.theirs, plain.theirs) }
                guard let base = plain.base else { return .decided(.both) }
                return base.withUnsafeBytes { base in
                    // Encrypted anew only, on one side.
                    if base.holdsSame(as: ours) { return taken(.theirs, content.theirs, plain.theirs) }
                    if base.holdsSame(as: theirs) { return taken(.ours, content.ours, plain.ours) }
                    return merge(base, ours, theirs)
                }
            }
        }
    }

    /// The version of one side, encrypted anew where that side did not know yet whom it is for.
    private func taken(_ side: Outcome, _ ciphertext: [UInt8], _ plaintext: SecretBytes) -> Result {
        // Where nobody can say, `status` and `recipients check` do.
        guard let recipients = try? recipients(),
            RecipientMatch(
                actual: Packets.head(in: ciphertext).keyIDs, recipients: recipients, at: Int64(time(nil)))
                == .different,
            let new = try? store.engine.encrypt(plaintext, to: recipients, trust: store.options.trust)
        else { return .decided(side) }
        return .merged(new)
    }

    private func merge(
        _ base: UnsafeRawBufferPointer, _ ours: UnsafeRawBufferPointer, _ theirs: UnsafeRawBufferPointer
    ) -> Result {
        guard [base, ours, theirs].allSatisfy(TextMerge.isText),
            let merged = try? TextMerge.merge(base: base, ours: ours, theirs: theirs)
        else { return .decided(.both) }
        do throws(StoreError) {
            return .merged(try encrypted(merged))
        } catch {
            switch error.code {
            case .unconfirmedRecipients, .vanishedRecipientFile, .badSignature, .openPGP(.untrustedKey):
                // The user's word is missing, which can still come; both would be a conflict for nothing.
                let reason = error.message
                return .decided(.refused(reason.hasSuffix(".") ? String(reason.dropLast()) : reason))
            default:
                // Nobody can be encrypted to right now; nothing is lost with both.
                return .decided(.both)
            }
        }
    }

    /// By the rules of a save: the same recipients, the same trust, the same agreement.
    private func encrypted(_ plaintext: SecretBytes) throws(StoreError) -> [UInt8] {
        let recipients = try recipients()
        return try StoreError.wrapping {
            try store.engine.encrypt(plaintext, to: recipients, trust: store.options.trust)
        }
    }

    private func recipients() throws(StoreError) -> [Recipient] {
        guard let list else { return try store.recipients(for: path).recipients }
        do throws(StoreError) {
            return try store.recipients(
                for: path, by: list.file, holding: list.bytes, signature: list.signature
            ).recipients
        } catch {
            // What others did to the list waits for the user, who sees it only once it is taken in.
            let current = try store.recipients(for: path).recipients
            switch error.code {
            case .badSignature, .badRecipientFile: return current
            default: return try remaining(of: current, in: list)
            }
        }
    }

    /// Those of the recipients until now whom a list still names; all where nobody of us would be among them.
    private func remaining(
        of current: [Recipient], in list: MergedLists.List
    ) throws(StoreError) -> [Recipient] {
        let named = store.knownRecipients(in: list.bytes).map(\.key.fingerprint)
        let kept = current.filter { named.contains($0.key.fingerprint) }
        let mine = try store.allOwnKeyIDs()
        return kept.contains { $0.key.subkeys.contains { mine.contains($0.keyID) } } ? kept : current
    }

    private func decrypted(_ ciphertext: [UInt8]) throws(OpenPGPError) -> SecretBytes {
        try ciphertext.withUnsafeBytes { bytes in
            Swift.Result { () throws(OpenPGPError) in
                try store.engine.decrypt(
                    bytes, limit: store.options.secretLimit, timeout: store.options.promptTimeout,
                    cancellation: nil, mayAsk: store.mayAskPeople)
            }
        }.get()
    }
}
