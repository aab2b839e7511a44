import CGPGME
import System

extension GnuPG {
    /// Decrypts one message.
    ///
    /// A message without integrity protection is `corrupt`, whatever gpg.conf says.
    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest
    ) throws(OpenPGPError) -> Decrypted {
        try silence.check()
        let plaintext = try decrypt(ciphertext, request, Self.bounds(of: request))
        return Decrypted(plaintext: plaintext, key: nil)
    }

    /// How long a decryption may take.
    static func bounds(of request: DecryptionRequest) -> Bounds {
        Bounds(
            timeout: request.mayAsk ? request.timeout : Self.patienceWithoutAsking,
            cancellation: request.cancellation, to: "decrypt", waitsBehindOthers: request.mayAsk)
    }

    /// As above, within bounds that began earlier.
    func decrypt(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds
    ) throws(OpenPGPError) -> SecretBytes {
        let head = try Packets.head(of: ciphertext)
        let ids = head.keyIDs
        let lane =
            !request.mayAsk
            ? Gate.Lane.unlockedKeys(Set(ids))
            : head.hasOwnPassphrase ? .ownPassphrase(Set(ids)) : .secretKeys(Set(ids))
        do throws(OpenPGPError) {
            return try decryptOnce(ciphertext, request, bounds, lane)
        } catch let error where error.code == .noSecretKey || error.code == .outOfMemory {
            // gpg-agent out of its locked memory says so too. The ids of the message tell whether a key is here.
            guard !ids.isEmpty, try hasSecretKey(for: ids) else { throw error }
            return try decryptOnce(ciphertext, request, bounds, lane)
        }
    }

    private func decryptOnce(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds,
        _ lane: Gate.Lane
    ) throws(OpenPGPError) -> SecretBytes {
        var options: [String] = []
        var first = try run(ciphertext, request, bounds, lane, options)
        // Of hidden recipients gpg tries key after key, and ends as if it had failed when the first was not the right one.
        if !first.isSuccess, Self.hidesRecipients(first.status),
            let key = first.status.first(where: { $0.keyword == "DECRYPTION_KEY" })?.arguments.first
        {
            options = ["--try-secret-key", String(key)]
            first = try run(ciphertext, request, bounds, lane, options)
        }
        guard !first.isSuccess, first.status.contains("NEWSIG") else { return try Self.plaintext(of: first) }
        guard !first.status.contains("BADSIG") else {
            throw OpenPGPError(.corrupt, "a signature in the message is bad: it is for a different text")
        }
        // Who signed is not looked at here, so that a signer who is not known, or a signature that ran out, is no
        // error; but it may not be all that is wrong.
        return try Self.plaintext(of: try run(ciphertext, request, bounds, lane, options + ["--skip-verify"]))
    }

    private static func hidesRecipients(_ status: [StatusLine]) -> Bool {
        status.contains { line in
            line.keyword == "ENC_TO" && line.arguments.first?.allSatisfy { $0 == "0" } == true
        }
    }

    /// Waits for a place in the lane, and has gpg decrypt.
    private func run(
        _ ciphertext: UnsafeRawBufferPointer, _ request: DecryptionRequest, _ bounds: Bounds,
        _ lane: Gate.Lane, _ options: [String]
    ) throws(OpenPGPError) -> GpgDecryption.Outcome {
        let wakeup = try Wakeup()
        let token = bounds.cancellation?.register { wakeup.wake() }
        defer { bounds.cancellation?.unregister(token) }
        let pass = gate.request(wakeup, in: lane)
        defer { pass.giveBack() }
        while !pass.isGranted { try bounds.pause(wakeup, pass) }
        try bounds.check(pass)
        let options =
            (homeOption.map { ["--homedir", $0] } ?? [])
            + (lane.asksNobody ? ["--pinentry-mode", "error"] : []) + options
        let outcome = try GpgDecryption.run(
            program.path, options, request.place(), on: ciphertext, limit: request.limit,
            mayAsk: !lane.asksNobody, AgentWait(bounds, wakeup, pass))
        pass.giveBack(.done)
        return outcome
    }

    /// gpg's verdict. Its exit status is the last word: it says DECRYPTION_OKAY and GOODMDC also of authenticated
    /// encryption whose tag is wrong (2.2), and of packets inside that are cut off.
    private static func plaintext(
        of outcome: consuming GpgDecryption.Outcome
    ) throws(OpenPGPError) -> SecretBytes {
        let status = outcome.status
        guard status.contains("DECRYPTION_OKAY"), !status.contains("DECRYPTION_FAILED") else {
            throw failure(status)
        }
        guard isProtected(status) else {
            throw OpenPGPError(.corrupt, "the message has no integrity protection")
        }
        guard outcome.isSuccess else {
            guard status.codes("ERROR", "add_keyblock_resource").isEmpty else {
                throw OpenPGPError(
                    .other, "gpg cannot open a keyring; does gpg.conf name one that no longer exists?")
            }
            throw OpenPGPError(
                .corrupt, "gpg could not read the whole message, which is truncated or damaged")
        }
        return outcome.plaintext
    }

    /// Whether gpg checked a modification detection code, or decrypted an authenticated mode, of each encrypted part: one may be
    /// inside another, and the outer one says nothing of the inner one.
    private static func isProtected(_ status: [StatusLine]) -> Bool {
        let parts = status.filter { $0.keyword == "DECRYPTION_INFO" }
        let authenticated = parts.count { $0.arguments.count > 2 && $0.arguments[2] != "0" }
        let checked = status.count { $0.keyword == "GOODMDC" }
        return checked + authenticated >= max(parts.count, 1)
    }

    /// Why nothing was decrypted.
    private static func failure(_ status: [StatusLine]) -> OpenPGPError {
        // For each session key that gpg tried.
        let codes = status.codes("ERROR", "pkdecrypt_failed")
        for code in codes {
            let kind = EngineFailure.code(of: code)
            if kind == .timedOut, !status.contains(where: \.isPrompt) {
                return OpenPGPError(.timedOut, Bounds.noTurn)
            }
            if let kind, kind != .noSecretKey { return sentence(kind, code) }
        }
        // Of a passphrase that the message itself has.
        if status.contains(where: { $0.arguments.first == "symkey_decrypt.maybe_error" }) {
            return sentence(.badPassphrase)
        }
        if let code = status.codes("ERROR", "get_passphrase").first {
            let kind = EngineFailure.code(of: code)
            return sentence(kind ?? .noPinentry, code)
        }
        if status.contains("CANCELED_BY_USER") { return sentence(.declined) }
        // A session key was found, so that it is the data that is bad.
        if status.contains("DECRYPTION_FAILED"), status.contains("DECRYPTION_INFO") {
            return OpenPGPError(.corrupt, "the message is damaged or was tampered with")
        }
        if status.contains("NO_SECKEY")
            || codes.contains(where: { EngineFailure.code(of: $0) == .noSecretKey })
        {
            return sentence(.noSecretKey)
        }
        if let code = codes.first ?? status.codes("FAILURE", "decrypt").first,
            let kind = EngineFailure.code(of: code)
        {
            return sentence(kind, code)
        }
        if status.contains("NODATA") { return OpenPGPError(.notEncrypted, "it contains no OpenPGP data") }
        if status.contains("PLAINTEXT") {
            return OpenPGPError(.notEncrypted, "it is an OpenPGP message, but not encrypted")
        }
        return OpenPGPError(
            .corrupt,
            status.contains("DECRYPTION_FAILED")
                ? "the message cannot be decrypted" : "gpg exited without decrypting anything")
    }

    /// The sentence for what keeps a secret key from being used.
    /// - Parameter error: gpg's or gpg-agent's code.
    static func sentence(_ code: OpenPGPError.Code, _ error: UInt32 = 0) -> OpenPGPError {
        switch code {
        case .noSecretKey: OpenPGPError(code, "you have none of the secret keys it needs")
        case .badPassphrase: OpenPGPError(code, "the passphrase was wrong")
        case .declined where EngineFailure.isOfNothingEntered(error):
            OpenPGPError(code, "no passphrase was entered")
        case .declined: OpenPGPError(code, "the passphrase prompt was closed")
        case .timedOut: OpenPGPError(code, "nobody answered the passphrase prompt")
        case .noPinentry:
            OpenPGPError(
                code,
                "no pinentry could ask for the passphrase; run passdir unlock in a terminal to enter it there"
            )
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
