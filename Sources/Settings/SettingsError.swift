import Git
public import System
import SystemPackage

/// What is wrong with the settings: a code for programs, a sentence for people.
public struct SettingsError: SentenceError, Equatable {
    /// The kinds of failure.
    public enum Code: Sendable, Equatable {
        /// The file isn't in git's syntax.
        case syntax
        /// A value isn't allowed for its setting.
        case value
        /// No such setting.
        case unknown
        /// No such store.
        case noStore
        /// The store exists already.
        case storeExists
        /// A name that a store cannot have.
        case name
        /// Another process writes the file now: try again.
        case locked
        /// A folder isn't ours alone.
        case unsafeFolder
        /// The file or folder cannot be read or written.
        case access
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence.
    public var message: String
    /// The file or folder it is about.
    public var file: FilePath?
    /// The line of the file, counted from 1.
    public var line: Int?

    /// An error of these parts.
    public init(code: Code, message: String, file: FilePath? = nil, line: Int? = nil) {
        self.code = code
        self.message = message
        self.file = file
        self.line = line
    }

    init(_ error: ConfigFileError) {
        let code: Code =
            switch error.code {
            case .locked: .locked
            case .invalid: .syntax
            case .unsupported: .unknown
            default: .access
            }
        self.init(code: code, message: error.message, file: error.file, line: error.line)
    }

    /// `FILE:LINE: sentence`.
    public var description: String {
        guard let file else { return message }
        return "\(file)\(line.map { ":\($0)" } ?? ""): \(message)"
    }
}
