import Glibc
public import SystemPackage

extension ChildProcess {
    /// What a program that ran to its end has left.
    public struct Outcome: Sendable {
        /// As `End.status`; 124 when its time was over, or it wrote more than it may.
        public var status: Int32
        /// What it wrote to standard output.
        public var output: [UInt8]
        /// What it wrote to standard error.
        public var errors: String
    }

    /// So many bytes may a program write; one that writes without end is ended.
    public static let outputLimit = 16 << 20

    /// Runs a program to its end, at most `timeout`. Blocks the thread.
    ///
    /// - Parameters:
    ///   - input: what it reads.
    ///   - others: as of `init`.
    public static func run(
        _ words: [String], environment: [String: String], directory: FilePath? = nil, input: [UInt8] = [],
        timeout: Duration, group: Group = .own
    ) throws(Errno) -> Outcome {
        var output: [UInt8] = []
        var outcome = try run(
            words, environment: environment, directory: directory, input: input, timeout: timeout,
            group: group
        ) { output.append(contentsOf: $0) }
        // Half an answer is none.
        if outcome.status != 124 { outcome.output = output }
        return outcome
    }

    /// As above; `hear` gets what it writes to standard output, piece by piece, and nobody else does.
    ///
    /// - Parameter keepsErrors: whether what it writes to standard error is kept; else it goes to ours.
    public static func run(
        _ words: [String], environment: [String: String], directory: FilePath? = nil, input: [UInt8] = [],
        timeout: Duration, group: Group = .own, keepsErrors: Bool = true,
        hear: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Outcome {
        try input.withUnsafeBufferPointer { (input) throws(Errno) in
            try run(
                words, environment: environment, directory: directory, bytes: UnsafeRawBufferPointer(input),
                timeout: timeout, group: group, keepsErrors: keepsErrors, hear: hear)
        }
    }

    /// As above; what it reads is a secret, which reaches it by a pipe only.
    public static func run(
        _ words: [String], environment: [String: String], secret: SecretBytes, timeout: Duration,
        hear: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Outcome {
        try secret.withUnsafeBytes { (bytes) throws(Errno) in
            try run(
                words, environment: environment, directory: nil, bytes: bytes, timeout: timeout, group: .own,
                keepsErrors: true, hear: hear)
        }
    }

    private static func run(
        _ words: [String], environment: [String: String], directory: FilePath?, bytes: UnsafeRawBufferPointer,
        timeout: Duration, group: Group, keepsErrors: Bool, hear: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Outcome {
        let (given, output, errors) = (try Conduit(), try Conduit(), try Conduit())
        let child = try ChildProcess(
            words, environment: environment, directory: directory,
            descriptors: [given.reading, output.writing, keepsErrors ? errors.writing : STDERR_FILENO],
            group: group)
        given.closeReading()
        output.closeWriting()
        errors.closeWriting()
        let end = ContinuousClock.now + timeout
        var (sent, heard, said) = (0, 0, [UInt8]())
        if bytes.isEmpty { given.closeWriting() }
        while output.reading >= 0 || errors.reading >= 0 {
            var entries = [
                pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errors.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: given.writing, events: Int16(POLLOUT), revents: 0),
            ]
            guard heard + said.count <= outputLimit, (try? Poll.wait(for: &entries, until: end)) == true
            else {
                child.kill()
                child.wait()
                return Outcome(status: 124, output: [], errors: String(decoding: said, as: UTF8.self))
            }
            if entries[0].revents != 0 {
                let goesOn = output.read { piece in
                    heard += piece.count
                    hear(piece)
                }
                if !goesOn { output.closeReading() }
            }
            if entries[1].revents != 0, !errors.read({ said += $0 }) { errors.closeReading() }
            if entries[2].revents != 0 {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                let count = write(given.writing, rest.baseAddress, min(rest.count, 4096))
                if count > 0 { sent += count }
                if count < 0 && errno != EINTR || sent == bytes.count { given.closeWriting() }
            }
        }
        return Outcome(
            status: child.wait().status, output: [], errors: String(decoding: said, as: UTF8.self))
    }
}

/// A pipe whose ends are closed one by one; -1 for one that is closed.
private final class Conduit {
    private(set) var reading: CInt
    private(set) var writing: CInt

    init() throws(Errno) { (reading, writing) = try Pipe().release() }

    deinit {
        closeReading()
        closeWriting()
    }

    func closeReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    /// False at the end. What was read is wiped here: it may be a password.
    func read(_ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) { chunk in
            let count = Glibc.read(reading, chunk.baseAddress, chunk.count)
            let error = errno
            if count > 0 {
                take(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
                explicit_bzero(chunk.baseAddress!, count)
            }
            return count > 0 || count < 0 && error == EINTR
        }
    }
}
