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
    /// question, and what was typed before it was there is no answer to it. A command that was stopped there and goes on asks
    /// anew: the shell has written below the question.
    static func line(_ question: String) -> String? {
        var signal: CInt? = SIGTSTP
        while true {
            fflush(nil)
            // In the background this stops the command until it has the terminal.
            var modes = termios()
            if tcgetattr(STDIN_FILENO, &modes) == 0 { set(modes, TCSADRAIN) }
            // A shell may say that it goes on when it has asked again already: an answer to that is one.
            if signal != SIGCONT { tcflush(STDIN_FILENO, TCIFLUSH) }
            do throws(Errno) {
                let signals = try HeldSignals([SIGTSTP, SIGCONT])
                StandardError.ask(question)
                signal = try? signals.wait(for: STDIN_FILENO)
                signals.end(with: signal)
            } catch {
                StandardError.ask(question)
                signal = nil
            }
            if signal == nil { return readLine() }
        }
    }

    /// What became of a hidden question.
    private enum HiddenAnswer {
        case typed(SecretBytes?)
        /// A signal has come and passed, such as the one that stops.
        case interrupted(by: CInt)
    }

    /// The signals that would leave a terminal silent, or find it loud: a shell to which a stopped command gives the
    /// terminal sets its modes, and leaves them so when the command goes on.
    private static let heldSignals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT]

    /// A line that is not shown while it is typed. A signal that ends or stops the command finds the terminal as it was; when
    /// the command goes on, the question is asked anew, as silently.
    static func secret(_ question: String) throws(Errno) -> SecretBytes? {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
        while true {
            switch try hiddenAnswer(question, before) {
            case .typed(let line): return line
            case .interrupted(SIGTSTP): continue
            case .interrupted: return nil
            }
        }
    }

    private static func hiddenAnswer(_ question: String, _ before: termios) throws(Errno) -> HiddenAnswer {
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        fflush(nil)
        // In the background this stops the command until it has the terminal, with no signal held meanwhile.
        set(before, TCSADRAIN)
        let signals = try HeldSignals(heldSignals)
        // First, so that nothing typed at the question is lost or shown.
        set(silent, TCSAFLUSH)
        StandardError.ask(question)
        var signal: CInt?
        defer {
            set(before, TCSAFLUSH)
            StandardError.endLine()
            signals.end(with: signal)
        }
        let line = try read(toLineEnd: true, atMost: largest) { () throws(Errno) in
            while true {
                signal = try signals.wait(for: STDIN_FILENO)
                guard signal == SIGCONT else { return signal == nil }
                // A shell may set its own modes, and say that it goes on, when it has asked again already.
                if !isSilent {
                    set(silent, TCSADRAIN)
                    StandardError.ask(question)
                }
            }
        }
        return signal.map { .interrupted(by: $0) } ?? .typed(line)
    }

    private static var isSilent: Bool {
        var modes = termios()
        return tcgetattr(STDIN_FILENO, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) == 0
    }

    private static func set(_ modes: termios, _ when: CInt) {
        var modes = modes
        while tcsetattr(STDIN_FILENO, when, &modes) != 0, errno == EINTR {}
    }

    /// All of standard input, byte for byte, but for one newline at its end.
    static func standardInput() throws -> SecretBytes? {
        do throws(Errno) {
            guard let all = try read(toLineEnd: false, atMost: largest) else { return nil }
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
    /// - Parameter isReady: asked before each read; false ends it, and what was typed until then is forgotten.
    static func read(
        toLineEnd: Bool, atMost limit: Int, isReady: () throws(Errno) -> Bool = { true }
    ) throws(Errno) -> SecretBytes? {
        var buffer = SecretBuffer()
        var chunk = [UInt8](repeating: 0, count: 4096)
        defer { chunk.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
        while true {
            guard try isReady() else { return nil }
            let got = Glibc.read(STDIN_FILENO, &chunk, toLineEnd ? 1 : chunk.count)
            if got < 0, errno == EINTR { continue }
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
