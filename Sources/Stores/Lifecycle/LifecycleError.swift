public import Git
public import Settings

/// Why a store could not be added, replaced or removed; nothing is half done then.
public struct LifecycleError: Error, Sendable, Equatable, CustomStringConvertible {
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

    /// An error of the configuration.
    public init(_ error: SettingsError) {
        self.init(.settings, error.description)
    }

    /// An error of git.
    public init(_ error: GitError) {
        switch error.code {
        case .authentication: self.init(.authentication, error.message)
        case .cancelled: self.init(.cancelled, error.message)
        case .redirected:
            self.init(.clone, error.message + "; if the repository has moved there, say so with --url")
        default: self.init(.clone, error.message)
        }
    }

    /// An error of a credential's place.
    public init(_ error: CredentialError) {
        self.init(.failed, error.message)
    }

    /// The sentence.
    public var description: String { message }
}
