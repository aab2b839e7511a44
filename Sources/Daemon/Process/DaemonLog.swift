import Logging
import Synchronization

/// Where log lines of the process go: to standard error, which is the log file of a daemon in the background,
/// the journal under systemd, and the terminal with `--foreground`.
///
/// What may be in a line: names of stores and secrets, error sentences. Never plaintext.
public enum DaemonLog {
    /// The setting's default.
    public static let defaultLevel = "notice"

    /// Sets up swift-log for the process; only the first call has an effect.
    ///
    /// - Parameter level: `trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    /// - Returns: false when there is no such level; the default is used then.
    @discardableResult
    public static func start(level: String) -> Bool {
        let known = Logger.Level(rawValue: level)
        bootstrap(known ?? .notice)
        return known != nil
    }

    private static func bootstrap(_ level: Logger.Level) {
        // LoggingSystem traps on a second bootstrap.
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        LoggingSystem.bootstrap { label in
            var handler = VisibleLogHandler(label: label)
            handler.logLevel = level
            return handler
        }
    }

    private static let isStarted = Mutex(false)
}
