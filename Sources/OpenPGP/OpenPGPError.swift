public import System
import SystemPackage

/// Why an operation on OpenPGP data failed: a code for programs, a sentence for people.
public struct OpenPGPError: SentenceError, Equatable {
    /// The kinds of failure.
    public enum Code: Sendable, Hashable {
        /// No key in the keyring answers to the recipient.
        case missingKey
        /// Several keys answer to the recipient and nothing decides between them.
        case ambiguousKey
        /// The recipient's key has expired.
        case expiredKey
        /// The recipient's key was revoked.
        case revokedKey
        /// The recipient's key is disabled in the local keyring.
        case disabledKey
        /// The recipient's key has no subkey for encryption.
        case notForEncryption
        /// gpg's trust model is asked for and does not trust the recipient's key.
        case untrustedKey
        /// None of the secret keys that could decrypt or sign is here.
        case noSecretKey
        /// A passphrase was given and was wrong.
        case badPassphrase
        /// The caller cancelled.
        case canceled
        /// The user closed the passphrase prompt.
        case declined
        /// The time given by the caller, or pinentry's own, ran out.
        case timedOut
        /// No pinentry could ask for the passphrase (none installed, or no terminal).
        case noPinentry
        /// The data was damaged or tampered with, or has no integrity protection.
        case corrupt
        /// There is no OpenPGP data.
        case notEncrypted
        /// The plaintext is larger than the limit given.
        case tooLarge
        /// Memory ran out.
        case outOfMemory
        /// This process, or the system, has no descriptor left.
        case tooManyOpenFiles
        /// gpg-agent could not be reached or could not serve.
        case agentUnavailable
        /// gpg or gpgme is missing or too old.
        case noEngine
        /// A signature is missing or bad.
        case badSignature
        /// Anything else; the message says what.
        case other
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence without a full stop; never holds plaintext.
    public let message: String
    /// The recipient line or key that it is about.
    public let subject: String?

    /// Whether the message says what helps; else, where a key is missing, importing it does.
    public let isAdvice: Bool

    /// An error of the given kind.
    public init(_ code: Code, _ message: String, subject: String? = nil, isAdvice: Bool = false) {
        self.code = code
        self.isAdvice = isAdvice
        self.message = message
        self.subject = subject
    }
}

extension OpenPGPError.Code {
    /// What it means for an operation that the system refused something it needs.
    init(_ errno: Errno) {
        switch errno {
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem: self = .tooManyOpenFiles
        case .noMemory: self = .outOfMemory
        default: self = .other
        }
    }
}

extension OpenPGPError {
    /// Why a key is not removed whose secret part is here.
    public static func secretPart(of key: Key) -> OpenPGPError {
        OpenPGPError(
            .other,
            "\(key.title) has a secret part here: gpg --delete-secret-and-public-key \(key.fingerprint) removes both"
        )
    }
}
