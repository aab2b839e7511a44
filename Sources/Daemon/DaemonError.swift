public import System

/// Why the daemon or a command of it cannot do what was asked.
public struct DaemonError: WrappingError, Equatable {
    /// One sentence for people.
    public let message: String

    /// An error by its sentence.
    public init(message: String) {
        self.message = message
    }

    /// The sentence of another part's error.
    public init(wrapping cause: any Error) {
        self.init(message: "\(cause)")
    }
}
