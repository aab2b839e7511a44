import CGPGME
import System
import SystemPackage

extension GnuPG {
    /// Decrypts one message; the plaintext goes from gpg's pipe straight into secret memory.
    ///
    /// A message without integrity protection is `corrupt`, whatever gpg.conf says.
    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted {
        let plaintext = try decrypt(ciphertext, request, Self.bounds(of: request))
        return Decrypted(plaintext: plaintext, key: nil)
    }

    /// How long a decryption may take.
    static func bounds(of request: DecryptionRequest) -> Bounds {
        Bounds(
            timeout: request.mayAsk ? request.timeout : Self.patienceWithoutAsking,
            cancellation: request.cancellation)
    }

    /// As above, within bounds that began earlier.
    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds
    ) throws(OpenPGPError) -> SecretBytes {
        let limit = request.limit
        if let objection = Packets.objection(to: ciphertext) { throw objection }
        let ids = Packets.recipientKeyIDs(in: ciphertext)
        let lane = request.mayAsk ? Gate.Lane.secretKeys(Set(ids)) : .unlockedKeys(Set(ids))
        do throws(OpenPGPError) {
            return try decryptOnce(ciphertext, limit: limit, bounds, lane)
        } catch let error where error.code == .noSecretKey || error.code == .outOfMemory {
            // gpg-agent out of its locked memory says so too. The ids of the message tell whether a key is here.
            guard !ids.isEmpty, try hasSecretKey(for: ids) else { throw error }
            return try decryptOnce(ciphertext, limit: limit, bounds, lane)
        }
    }

    private func decryptOnce(
        _ ciphertext: UnsafeRawBufferPointer, limit: Int, _ bounds: Bounds, _ lane: Gate.Lane
    ) throws(OpenPGPError) -> SecretBytes {
        let sink = SecretSink(limit: limit)
        let operation = try Operation(home: homeOption)
        let (source, target) = (try operation.reading(ciphertext), try operation.writing(to: sink))
        if lane.asksNobody {
            gpgme_set_pinentry_mode(operation.context, GPGME_PINENTRY_MODE_ERROR)
        }
        let error = try operation.run(bounds, through: gate, lane: lane) {
            gpgme_op_decrypt_start($0, source, target)
        }
        switch sink.failure {
        case nil: break
        case .fileTooLarge?: throw OpenPGPError(.tooLarge, "the plaintext is larger than \(limit) bytes")
        default: throw OpenPGPError(.outOfMemory, "there is no memory for the plaintext")
        }
        guard error == 0 else { throw Self.decryptionError(error, operation.status) }
        guard Self.isProtected(operation.status) else {
            throw OpenPGPError(.corrupt, "the message has no integrity protection")
        }
        guard try !Self.isDamaged(operation.status, operation.diagnostics()) else {
            throw OpenPGPError(.corrupt, "the message is damaged or was tampered with")
        }
        return sink.take()
    }

    /// Whether gpg checked a modification detection code, or decrypted an authenticated mode.
    private static func isProtected(_ status: [StatusLine]) -> Bool {
        guard status.contains("DECRYPTION_OKAY") else { return false }
        if status.contains("GOODMDC") { return true }
        return status.contains { line in
            line.keyword == "DECRYPTION_INFO" && line.arguments.count > 2 && line.arguments[2] != "0"
        }
    }

    /// Whether gpg stopped in the middle of what it says it decrypted, or met there what is no message.
    ///
    /// gpg 2.2 says DECRYPTION_OKAY and GOODMDC also of authenticated encryption (tag 20) whose tag is wrong, and of
    /// packets inside that are cut off. That it failed stands in its exit status, which gpgme does not give, and in its
    /// diagnostics, whose beginnings gpg does not translate.
    private static func isDamaged(_ status: [StatusLine], _ diagnostics: String) -> Bool {
        let isBadStatus = status.contains { line in
            switch line.keyword {
            // An invalid packet; 2 is none at all, as from "gpg --no-literal" of nothing.
            case "NODATA": line.arguments.first == "3"
            case "ERROR": line.arguments.first == "proc_pkt.plaintext"
            default: false
            }
        }
        return isBadStatus || diagnostics.contains("gcry_cipher_checktag")
            || diagnostics.contains("handle plaintext failed")
    }

    private static func decryptionError(_ error: gpgme_error_t, _ status: [StatusLine]) -> OpenPGPError {
        // gpg's own reasons for each session key it tried are finer than the verdict.
        let reasons = status.decryptionFailures.compactMap { EngineFailure.code(of: $0) }
        let verdict = gpgme_err_code(error)
        if let reason = reasons.first(where: { $0 != .noSecretKey }) { return sentence(reason, error) }
        // A session key was found, so that it is the data that is bad.
        if status.contains("DECRYPTION_FAILED"), status.contains("DECRYPTION_INFO") {
            return OpenPGPError(.corrupt, "the message is damaged or was tampered with")
        }
        if verdict == GPG_ERR_NO_DATA {
            return status.contains("NODATA")
                ? OpenPGPError(.notEncrypted, "there is no OpenPGP data")
                : OpenPGPError(.corrupt, "gpg ended without decrypting anything")
        }
        if let code = EngineFailure.code(of: error) { return sentence(code, error) }
        return OpenPGPError(.corrupt, "the message cannot be decrypted: \(EngineFailure.words(error))")
    }

    /// The sentence for what keeps a secret key from being used.
    static func sentence(_ code: OpenPGPError.Code, _ error: gpgme_error_t) -> OpenPGPError {
        switch code {
        case .noSecretKey: OpenPGPError(code, "none of the secret keys it needs is here")
        case .badPassphrase: OpenPGPError(code, "the passphrase was wrong")
        case .declined: OpenPGPError(code, "the passphrase prompt was closed")
        case .timedOut: OpenPGPError(code, "nobody answered the passphrase prompt")
        case .noPinentry:
            OpenPGPError(
                code,
                "no pinentry could ask for the passphrase: the terminal that passdir was mounted in is gone, or there was "
                    + "none; passdir unlock asks in the terminal where you type it")
        case .outOfMemory: OpenPGPError(code, "gpg-agent has run out of memory")
        default: OpenPGPError(code, "gpg failed: \(EngineFailure.words(error))")
        }
    }

    private func hasSecretKey(for ids: [UInt64]) throws(OpenPGPError) -> Bool {
        let patterns = ids.filter { $0 != 0 }.map { "0x" + Self.hexadecimal($0) }
        if patterns.isEmpty { return false }
        let wanted = Set(ids)
        return try keys(matching: patterns, secretOnly: true)
            .contains { $0.subkeys.contains { $0.hasSecret && wanted.contains($0.keyID) } }
    }

    static func hexadecimal(_ id: UInt64) -> String {
        let digits = String(id, radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
