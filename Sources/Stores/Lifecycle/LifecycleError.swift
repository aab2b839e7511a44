import Git
import Settings
public import System

/// Why a store could not be added, replaced or removed; nothing is half done then.
public struct LifecycleError: WrappingError, Equatable {
    /// The kinds of failure that a program tells apart.
    public enum Code: Sendable, Equatable {
        /// The configuration says no: the name, the place, the file.
        case settings
        /// The server wants other credentials.
        case authentication
        /// The clone failed for another reason.
        case clone
        /// There are commits or changes that no remote has.
        case unpushed
        /// Another passdir changes stores right now.
        case busy
        /// The user stopped it.
        case cancelled
        /// The disk, a credential place, the daemon: the sentence says which.
        case failed
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence.
    public var message: String

    /// An error of its parts.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// An error of the configuration, of git or a clone, or of a place where credentials are kept.
    public init(wrapping cause: any Error) {
        let message = "\(cause)"
        switch cause {
        case is SettingsError: self.init(.settings, message)
        case let error as TransferFailure where error.code == .authentication:
            self.init(.authentication, message)
        case let error as TransferFailure where error.code == .cancelled: self.init(.cancelled, message)
        case let error as TransferFailure where error.code == .redirected:
            self.init(.clone, message + "; if the repository has moved there, pass its URL with --url")
        case is TransferFailure, is GitError: self.init(.clone, message)
        default: self.init(.failed, message)
        }
    }
}
