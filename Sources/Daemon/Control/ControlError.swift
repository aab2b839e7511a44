public import System

/// Why a call over the control socket did not succeed.
public struct ControlError: SentenceError, Equatable {
    /// The kinds that a program tells apart.
    public enum Code: Sendable, Equatable {
        /// Nobody listens at the socket: no daemon runs.
        case noDaemon
        /// A daemon listens there already.
        case alreadyRunning
        /// Files in the mount are open, so it cannot be unmounted.
        case busy
        /// Saves that failed are still in memory; `paths` names them.
        case unsaved
        /// No answer came in time.
        case timedOut
        /// The other side is not one of ours: another user's process, or not a passdir that we understand.
        case refused
        /// Anything else; the message says what.
        case failed
    }

    /// The kind, for programs.
    public let code: Code
    /// One sentence for people.
    public let message: String
    /// The secrets that `unsaved` is about, as `STORE/PATH`; empty for the other kinds.
    public let paths: [String]

    /// An error by its kind and its sentence.
    public init(_ code: Code, _ message: String, paths: [String] = []) {
        self.code = code
        self.message = message
        self.paths = paths
    }

    /// "Saves that failed are still in memory", with the secrets' names.
    public static func unsaved(_ paths: [String]) -> ControlError {
        let names = paths.prefix(3).joined(separator: ", ")
        let more = paths.count > 3 ? " and \(paths.count - 3) more" : ""
        return ControlError(.unsaved, "not saved yet: \(names)\(more); see 'passdir status'", paths: paths)
    }
}
