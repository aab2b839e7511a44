import CGPGME
import Glibc

/// The one table from gpgme's error codes to ours.
enum EngineFailure {
    /// The kind of failure that an error code means whatever the operation was; nil where it depends.
    static func code(_ code: gpgme_err_code_t) -> OpenPGPError.Code? {
        switch code {
        case GPG_ERR_NO_SECKEY: .noSecretKey
        case GPG_ERR_BAD_PASSPHRASE, GPG_ERR_BAD_PIN: .badPassphrase
        case GPG_ERR_CANCELED, GPG_ERR_FULLY_CANCELED, GPG_ERR_NO_PASSPHRASE: .declined
        case GPG_ERR_TIMEOUT: .timedOut
        case GPG_ERR_NO_PIN_ENTRY, GPG_ERR_PIN_ENTRY, GPG_ERR_ENOTTY: .noPinentry
        case GPG_ERR_NO_AGENT, GPG_ERR_AGENT, GPG_ERR_ASS_CONNECT_FAILED, GPG_ERR_NOT_LOCKED:
            .agentUnavailable
        case GPG_ERR_ENOMEM: .outOfMemory
        case GPG_ERR_EMFILE, GPG_ERR_ENFILE: .tooManyOpenFiles
        case GPG_ERR_NO_PUBKEY: .missingKey
        case GPG_ERR_AMBIGUOUS_NAME, GPG_ERR_AMBIGUOUS: .ambiguousKey
        case GPG_ERR_CERT_REVOKED: .revokedKey
        case GPG_ERR_CERT_EXPIRED, GPG_ERR_KEY_EXPIRED: .expiredKey
        case GPG_ERR_KEY_DISABLED: .disabledKey
        case GPG_ERR_WRONG_KEY_USAGE, GPG_ERR_UNUSABLE_PUBKEY: .notForEncryption
        case GPG_ERR_INV_ENGINE, GPG_ERR_ENGINE_TOO_OLD: .noEngine
        default: nil
        }
    }

    /// What a failure means that came from pinentry: whatever it stumbled over, the question was not shown. It says ENOENT
    /// where its terminal is gone, ENXIO or EIO where that has hung up.
    static func code(of error: gpgme_error_t) -> OpenPGPError.Code? {
        if isFailedStart(error) { return nil }
        let known = code(gpgme_err_code(error))
        return known ?? (gpgme_err_source(error) == GPG_ERR_SOURCE_PINENTRY ? .noPinentry : nil)
    }

    /// Whether a prompt was answered with an empty passphrase.
    static func isOfNothingEntered(_ error: gpgme_error_t) -> Bool {
        gpgme_err_code(error) == GPG_ERR_NO_PASSPHRASE
    }

    /// Whether gpgme could not start gpg, as the system allows no more processes. It tells what errno held last: EAGAIN, or what
    /// became of its look for a terminal before.
    private static func isFailedStart(_ error: gpgme_error_t) -> Bool {
        [GPG_ERR_EAGAIN, GPG_ERR_ENOTTY].contains(gpgme_err_code(error))
            && gpgme_err_source(error) == GPG_ERR_SOURCE_GPGME
    }

    /// An error with gpg's own words behind `what`.
    static func error(
        _ error: gpgme_error_t, _ what: String, else fallback: OpenPGPError.Code = .other,
        subject: String? = nil
    ) -> OpenPGPError {
        OpenPGPError(
            code(of: error) ?? fallback, "\(what): \(words(error))", subject: subject)
    }

    /// gpg's words for an error.
    static func words(_ error: gpgme_error_t) -> String {
        if isFailedStart(error) { return "the system allows no more processes" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "error \(error)" }
            // The result is cut off, and ended, when the buffer is too small.
            _ = gpgme_strerror_r(error, start, buffer.count)
            return String(cString: start)
        }
    }
}
