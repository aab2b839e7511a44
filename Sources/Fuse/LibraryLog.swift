import CFuse
import Glibc
import Synchronization

/// What libfuse has to say: rare, and about trouble with the kernel. It has one log for the whole process, so there
/// is one here. Nothing of requests' content is ever in it.
public enum LibraryLog {
    /// How grave a line is: those of syslog(3).
    public enum Level: Int32, Sendable {
        /// Of use to whoever searches an error in libfuse.
        case debug = 7
        /// For information.
        case info = 6
        /// Normal, but of note.
        case notice = 5
        /// Something may be wrong.
        case warning = 4
        /// Something failed.
        case error = 3
    }

    private static let sink = Mutex<(@Sendable (Level, String) -> Void)?>(nil)

    /// Sends every line to `sink` from now on; nil sends them to standard error again.
    public static func send(to sink: (@Sendable (Level, String) -> Void)?) {
        self.sink.withLock { $0 = sink }
        _ = isConnected
    }

    static func write(_ level: Level, _ line: String) {
        if let sink = sink.withLock({ $0 }) { return sink(level, line) }
        var text = "fuse: \(line)\n"
        text.withUTF8 { bytes in _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }

    /// Done once, however often it is read.
    static let isConnected: Bool = {
        fuse_set_log_func { level, format, arguments in
            guard let format, let arguments else { return }
            var line = [CChar](repeating: 0, count: 512)
            vsnprintf(&line, line.count, format, arguments)
            let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            var text = String(decoding: bytes, as: UTF8.self)
            while text.last?.isNewline == true { text.removeLast() }
            // libfuse knows emergency, alert and critical too; to us they are errors.
            LibraryLog.write(Level(rawValue: Int32(level.rawValue)) ?? .error, text)
        }
        return true
    }()
}
