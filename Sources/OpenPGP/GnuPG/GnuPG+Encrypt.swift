import CGPGME
import Glibc
import System
import SystemPackage

extension GnuPG {
    /// Encrypts to all recipients, by pinned fingerprint, or throws naming the first that cannot be encrypted to.
    ///
    /// With `TrustModel.always` keys are trusted whatever the web of trust says, as pass does: `.gpg-id` named
    /// them. `encrypt-to` of gpg.conf adds nobody.
    func encrypt(
        _ plaintext: SecretBytes, to recipients: [Recipient], trust: TrustModel
    ) throws(OpenPGPError) -> [UInt8] {
        guard !recipients.isEmpty else {
            throw OpenPGPError(.missingKey, "there is no recipient to encrypt to")
        }
        let now = Int64(time(nil))
        for recipient in recipients {
            if let error = recipient.objection(at: now, trust: trust) { throw error }
        }
        var specifications: [String] = []
        for recipient in recipients where !specifications.contains(recipient.specification) {
            specifications.append(recipient.specification)
        }
        let list = specifications.joined(separator: "\n")
        let sink = ByteSink()
        let operation = try Operation(home: homeOption)
        let target = try operation.writing(to: sink)
        let flags = gpgme_encrypt_flags_t(
            rawValue: (trust == .always ? GPGME_ENCRYPT_ALWAYS_TRUST.rawValue : 0)
                | GPGME_ENCRYPT_NO_ENCRYPT_TO.rawValue | GPGME_ENCRYPT_NO_COMPRESS.rawValue)
        let error = try plaintext.withUnsafeBytes { (bytes) throws(OpenPGPError) in
            let source = try operation.reading(bytes)
            return try run(operation, to: "encrypt") {
                gpgme_op_encrypt_ext_start($0, nil, list, flags, source, target)
            }
        }
        if let error = try refusal(operation.status, recipients, now) { throw error }
        guard error == 0 else { throw EngineFailure.error(error, "gpg could not encrypt") }
        // gpgme does not notice a gpg that was killed half-way.
        guard operation.status.contains("END_ENCRYPTION") else {
            throw OpenPGPError(.other, "gpg exited before it had encrypted everything")
        }
        // "armor" in gpg.conf.
        let message = Armor.isArmored(sink.bytes) ? Armor.decode(sink.bytes) ?? [] : sink.bytes
        try Packets.verify(message, isFor: recipients)
        return message
    }

    /// The first recipient that gpg refused (INV_RECP: reason, then what gpg was told).
    private func refusal(
        _ status: [StatusLine], _ recipients: [Recipient], _ now: Int64
    ) throws(OpenPGPError) -> OpenPGPError? {
        guard let line = status.first(where: { $0.keyword == "INV_RECP" }) else { return nil }
        let specification = line.arguments.dropFirst().first.map(String.init) ?? ""
        let recipient = recipients.first { $0.specification == specification }
        let who = recipient.map { "the key of \($0.key.title)" } ?? "the key \(specification)"
        let subject = recipient?.named ?? specification
        // gpg 2.2 gives no reason for an expired or revoked key; the key as it is now does.
        if let recipient,
            let key = try keys(
                matching: [recipient.key.fingerprint.description], secretOnly: false, askingAgent: false
            ).first,
            let error = recipient.with(key).objection(at: now)
        {
            return error
        }
        return switch line.arguments.first {
        case "1": OpenPGPError(.missingKey, "\(who) is not in the keyring", subject: subject)
        case "2": OpenPGPError(.ambiguousKey, "\(who) is ambiguous", subject: subject)
        case "3": OpenPGPError(.notForEncryption, "\(who) cannot be used for encryption", subject: subject)
        case "4": OpenPGPError(.revokedKey, "\(who) was revoked", subject: subject)
        case "5": OpenPGPError(.expiredKey, "\(who) has expired", subject: subject)
        case "10": OpenPGPError(.untrustedKey, "\(who) is not trusted", subject: subject)
        case "13": OpenPGPError(.disabledKey, "\(who) is disabled in the keyring", subject: subject)
        case let reason:
            OpenPGPError(.other, "gpg refused \(who) (reason \(reason ?? "0"))", subject: subject)
        }
    }
}
