public import System
import SystemPackage

/// What is wrong with a text, or could not be made of it: a code for programs, one sentence for people. The sentence holds no
/// part of a secret.
public struct ContentsError: SentenceError, Equatable {
    /// The kinds of failure that a caller treats differently.
    public enum Code: Sendable, Equatable {
        /// What was given does not have the form that it must have.
        case invalid
        /// The form is known, but not served here.
        case unsupported
        /// What is asked for is not in the text, or a reference leads nowhere.
        case missing
        /// A value cannot stand where it is wanted.
        case cannotHold
        /// The system gave no memory or no random bytes, or libgcrypt cannot be used.
        case system
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence, without a full stop.
    public var message: String

    /// An error of the code and sentence given.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// No secret memory could be had.
    init(memory error: Errno) {
        self.init(.system, "there is no memory for a secret: \(error)")
    }
}
