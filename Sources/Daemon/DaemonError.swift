import Settings

/// Why the daemon or a command of it cannot do what was asked.
public struct DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence for people.
    public let message: String

    /// An error by its sentence.
    public init(message: String) {
        self.message = message
    }

    /// The sentence.
    public var description: String { message }

    init(_ error: SettingsError) {
        self.init(message: error.description)
    }
}
