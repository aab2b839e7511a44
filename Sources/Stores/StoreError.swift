public import OpenPGP
public import System
public import SystemPackage

/// Why an operation on a store failed: a code for programs, a sentence for people.
public struct StoreError: WrappingError, Equatable {
    /// The cause, one for each thing a user can do about it.
    public enum Code: Sendable, Equatable {
        /// No `.gpg-id` at or above the secret.
        case noRecipients
        /// `.gpg-id` is there but cannot be used: a link, unreadable, not text, without a line.
        case badRecipientFile
        /// `.gpg-id.sig` is missing or not by a key of PASSWORD_STORE_SIGNING_KEY.
        case badSignature
        /// Somebody was added to `.gpg-id` and not confirmed yet (`recipients.confirm`).
        case unconfirmedRecipients
        /// A `.gpg-id` that was confirmed is gone, and what is above it names somebody who was not confirmed for its folder.
        case vanishedRecipientFile
        /// Secrets that must be re-encrypted cannot be decrypted; these.
        case unreadableSecrets([FilePath])
        /// A change of recipients is under way, or was interrupted and waits to be resumed or aborted.
        case changeUnderWay
        /// There is no change of recipients to resume or to abort.
        case noChange
        /// GnuPG or a key said no.
        case openPGP(OpenPGPError.Code)
        /// The secret or its ciphertext is over `limits.secret`.
        case tooLarge
        /// The ciphertext changed while it was read, again and again.
        case unstable
        /// The folder of a `.gpg-id` is gone: what was to be saved is kept elsewhere, and is for nothing in the store.
        case keptElsewhere
        /// A `.gpg-id` is another one than when a save of it was first tried: what was to be saved is kept elsewhere.
        case overtaken
        /// The user took the change of recipients back that a save of a `.gpg-id` was making: what was to be saved is kept
        /// elsewhere.
        case aborted
        /// The store is locked (`passdir lock`): nothing of it is read.
        case locked
        /// The system said no.
        case system(Errno)
    }

    /// The cause.
    public var code: Code
    /// One sentence: what is wrong, where, and where it can be said what to do. Never holds plaintext.
    public var message: String

    /// Where what was to be saved is kept, an absolute path; nil where it is not.
    public var place: FilePath?

    /// An error with its sentence.
    public init(_ code: Code, _ message: String, keptAt place: FilePath? = nil) {
        self.code = code
        self.message = message
        self.place = place
    }

    /// An error of the system on a path of the store.
    public init(_ errno: Errno, _ action: String, _ path: FilePath) {
        self.init(
            .system(errno), "cannot \(action) \(path.isEmpty ? "the store's folder" : path.string): \(errno)."
        )
    }

    /// An error of GnuPG about a secret.
    public init(_ error: OpenPGPError) {
        // The remedy is a command of ours, which OpenPGP does not know.
        let remedy =
            error.code == .missingKey && !error.isAdvice ? ": passdir keys import FILE imports one" : ""
        self.init(
            error.code == .tooLarge ? .tooLarge : .openPGP(error.code), error.message + remedy)
    }

    /// An error of GnuPG or of the system.
    public init(wrapping cause: any Error) {
        switch cause {
        case let error as OpenPGPError: self.init(error)
        default: self.init(.system(cause as? Errno ?? .ioError), "\(cause)")
        }
    }

    /// Whether somebody was asked for a passphrase, or could not be.
    public var isAPersonsAnswer: Bool {
        [.badPassphrase, .declined, .timedOut, .noPinentry].contains { code == .openPGP($0) }
    }

    /// What `body` returns; where the system says no, it is said what was to be done with which path of the store.
    public static func wrapping<Value>(
        _ action: String, _ path: FilePath, _ body: () throws -> Value
    ) throws(StoreError) -> Value {
        try wrapping {
            do {
                return try body()
            } catch let error as Errno {
                throw StoreError(error, action, path)
            }
        }
    }
}
