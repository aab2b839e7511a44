import Glibc
import OpenPGP
import System
import SystemPackage

/// Questions on the terminal.
enum Terminal {
    /// Whether there is somebody to ask.
    static var isThere: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// The terminal that the command runs in, by its device; nil without one.
    static var path: String? {
        (STDIN_FILENO...STDERR_FILENO).lazy.compactMap { ttyname($0) }.first.map {
            String(cString: $0)
        }
    }

    /// Whether there is somebody to ask who sees what was printed before the question.
    static var showsOutput: Bool { isThere && isatty(STDOUT_FILENO) == 1 }

    /// A line that is shown while it is typed; nil at an end of input. Everything that was printed stands above the
    /// question, and what was typed before it was there is no answer to it.
    static func line(_ question: String) -> String? {
        fflush(nil)
        tcflush(STDIN_FILENO, TCIFLUSH)
        StandardError.ask(question)
        return readLine()
    }

    /// A line that is not shown while it is typed. A signal that ends the command finds the terminal as it was.
    static func secret(_ question: String) throws(Errno) -> SecretBytes? {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        let signals = CaughtSignals([SIGINT, SIGTERM, SIGHUP])
        fflush(nil)
        // First, so that nothing typed at the question is lost or shown.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        StandardError.ask(question)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            StandardError.endLine()
            signals.end()
        }
        return try read(toLineEnd: true, atMost: largest, until: { signals.hasCome })
    }

    /// All of standard input, byte for byte, but for one newline at its end.
    static func standardInput() throws -> SecretBytes? {
        do throws(Errno) {
            guard let all = try read(toLineEnd: false, atMost: largest, until: { false }) else { return nil }
            let endsInNewline = all.withUnsafeBytes { $0.last == UInt8(ascii: "\n") }
            guard endsInNewline else { return all }
            guard all.count > 1 else { return nil }
            return try all.withUnsafeBytes { (bytes) throws(Errno) in
                try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.dropLast()))
            }
        } catch {
            guard error == .fileTooLarge else { throw error }
            throw CommandFailure(
                "standard input is longer than 1 MiB, too long for a credential: nothing was changed")
        }
    }

    /// No credential is longer, and who pipes a wrong file in is to hear of it.
    private static let largest = 1 << 20

    /// What standard input holds, byte for byte: a line without its newline, or all of it; nil where that is nothing.
    /// - Parameter isOver: asked when a signal has come; what was typed until then is forgotten.
    static func read(
        toLineEnd: Bool, atMost limit: Int, until isOver: () -> Bool
    ) throws(Errno) -> SecretBytes? {
        var buffer = SecretBuffer()
        var chunk = [UInt8](repeating: 0, count: 4096)
        defer { chunk.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
        while true {
            let got = Glibc.read(STDIN_FILENO, &chunk, toLineEnd ? 1 : chunk.count)
            if got < 0, errno == EINTR {
                if isOver() { return nil }
                continue
            }
            guard got > 0 else { break }
            if toLineEnd, chunk[0] == UInt8(ascii: "\n") { break }
            var failure: Errno?
            chunk.withUnsafeBytes { bytes in
                do throws(Errno) {
                    try buffer.write(UnsafeRawBufferPointer(rebasing: bytes[..<got]), at: buffer.count)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            if buffer.count > limit { throw .fileTooLarge }
        }
        return buffer.count == 0 ? nil : buffer.freeze()
    }
}
