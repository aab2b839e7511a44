import CGPGME
import Glibc
import Synchronization
import SystemPackage

/// A signature and what it is of.
struct DetachedSignature: Hashable {
    let signature: [UInt8]
    let data: [UInt8]

    /// Files of other sizes are no `.gpg-id`.
    var isSmall: Bool { signature.count + data.count <= 65_536 }
}

extension GnuPG {
    /// Verifies a detached signature, binary or armoured.
    ///
    /// Good ones are remembered while the files of the home stay as they are and nothing expires.
    func verifyDetached(signature: [UInt8], of data: [UInt8]) throws(OpenPGPError) -> [Fingerprint] {
        let question = DetachedSignature(signature: signature, data: data)
        let identity = HomeIdentity(identityPaths)
        let now = Int64(time(nil))
        if let known = verified.withLock({ $0.answer(question, home: identity, now: now) }) { return known }
        let (signers, expiry) = try verifyWithGpg(signature: signature, of: data)
        guard question.isSmall,
            let keys = try? keys(
                matching: signers.map(\.description), secretOnly: false, askingAgent: false),
            signers.allSatisfy({ signer in keys.contains { $0.subkeys.contains { $0.fingerprint == signer } }
            }),
            HomeIdentity(identityPaths) == identity
        else { return signers }
        let expiries = keys.flatMap { $0.subkeys.compactMap(\.expires) } + [expiry].compactMap(\.self)
        verified.withLock {
            $0.remember(signers, for: question, home: identity, now: now, expiries: expiries)
        }
        return signers
    }

    /// The signers, and when the first of the signatures expires.
    private func verifyWithGpg(
        signature: [UInt8], of data: [UInt8]
    ) throws(OpenPGPError) -> ([Fingerprint], Int64?) {
        let operation = try Operation(home: homeOption)
        let error = try signature.withBytes { (signature) throws(OpenPGPError) in
            try data.withBytes { (data) throws(OpenPGPError) in
                let (signature, data) = (try operation.reading(signature), try operation.reading(data))
                return try run(operation, to: "verify a signature") {
                    gpgme_op_verify_start($0, signature, data, nil)
                }
            }
        }
        guard error == 0 else {
            throw EngineFailure.error(error, "the signature cannot be verified", else: .badSignature)
        }
        let signers = Self.signers(operation.status)
        guard !operation.status.contains("BADSIG") else {
            throw OpenPGPError(.badSignature, "the signature is bad: what was signed has changed")
        }
        guard !signers.isEmpty else {
            if operation.status.contains("NO_PUBKEY") {
                throw OpenPGPError(.missingKey, "the signing key is not in the keyring")
            }
            throw OpenPGPError(.badSignature, "there is no good signature by a valid key")
        }
        // The fourth argument; 0 for a signature that does not expire.
        let expiries = operation.status.filter { $0.keyword == "VALIDSIG" && $0.arguments.count >= 4 }
            .compactMap { Int64($0.arguments[3]) }.filter { $0 > 0 }
        return (signers, expiries.min())
    }

    /// VALIDSIG also follows EXPKEYSIG and REVKEYSIG; only one after GOODSIG counts. Its first argument is the
    /// fingerprint of the key that signed, its tenth that of the primary key.
    private static func signers(_ status: [StatusLine]) -> [Fingerprint] {
        var signers: [Fingerprint] = []
        var isGood = false
        for line in status {
            switch line.keyword {
            case "NEWSIG", "BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG": isGood = false
            case "GOODSIG": isGood = true
            case "VALIDSIG" where isGood && line.arguments.count >= 10:
                for text in [line.arguments[9], line.arguments[0]] {
                    guard let fingerprint = Fingerprint(String(text)), !signers.contains(fingerprint) else {
                        continue
                    }
                    signers.append(fingerprint)
                }
            default: break
            }
        }
        return signers
    }

    /// Signs; may ask for a passphrase.
    func signDetached(
        _ data: [UInt8], by signer: Fingerprint?, timeout: Duration?, cancellation: Cancellation?
    ) throws(OpenPGPError) -> [UInt8] {
        try silence.check()
        let bounds = Bounds(timeout: timeout, cancellation: cancellation, to: "sign", waitsBehindOthers: true)
        let operation = try Operation(home: homeOption)
        gpgme_set_armor(operation.context, 1)
        if let signer { try addSigner(signer, to: operation) }
        let sink = ByteSink()
        let target = try operation.writing(to: sink)
        let error = try data.withBytes { (bytes) throws(OpenPGPError) in
            let source = try operation.reading(bytes)
            return try operation.run(bounds, through: gate, lane: .signer(signer)) {
                gpgme_op_sign_start($0, source, target, GPGME_SIG_MODE_DETACH)
            }
        }
        guard error == 0 else {
            let code = EngineFailure.code(gpgme_err_code(error)) ?? .other
            let detail = Self.sentence(code, error)
            throw OpenPGPError(
                code == .notForEncryption ? .noSecretKey : code, "cannot sign: \(detail.message)",
                subject: signer?.description)
        }
        guard operation.status.contains("SIG_CREATED") else {
            throw OpenPGPError(.other, "gpg exited before it had signed", subject: signer?.description)
        }
        return sink.bytes
    }

    /// gpgme names a signer by a key object, which needs a context that runs gpgme's own loop.
    private func addSigner(_ signer: Fingerprint, to operation: Operation) throws(OpenPGPError) {
        var context: gpgme_ctx_t?
        guard gpgme_new(&context) == 0, let context else {
            throw OpenPGPError(.outOfMemory, "cannot prepare gpgme")
        }
        defer { gpgme_release(context) }
        if let homeOption {
            _ = gpgme_ctx_set_engine_info(context, GPGME_PROTOCOL_OpenPGP, nil, homeOption)
        }
        gpgme_set_offline(context, 1)
        var key: gpgme_key_t?
        let error = gpgme_get_key(context, signer.description, &key, 1)
        guard error == 0, let key else {
            throw OpenPGPError(
                .noSecretKey, "there is no secret key \(signer)", subject: signer.description)
        }
        defer { gpgme_key_unref(key) }
        _ = gpgme_signers_add(operation.context, key)
    }
}
