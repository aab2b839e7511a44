import Glibc
public import System
import SystemPackage

/// Starts this program anew as a daemon, or as another process that outlives the command, and waits until it says how its
/// start went.
///
/// A fork without exec is not safe once Swift runs threads, so the daemon is a fresh process of the same
/// executable: a session of its own, `/` as working directory, `/dev/null` to read, a log file to write.
public enum Detached {
    /// Why no daemon runs now.
    public struct Failure: SentenceError, Equatable {
        /// The kinds that a program tells apart.
        public enum Code: Sendable, Equatable {
            /// The process could not be started.
            case notStarted
            /// The daemon told why it ends.
            case reported
            /// The daemon ended without a word.
            case died
            /// The daemon said nothing in time, and was ended.
            case timedOut
        }

        /// The kind, for programs.
        public let code: Code
        /// One sentence for people.
        public let message: String
    }

    /// The descriptor that the daemon inherits for its readiness; the first after the standard three.
    static let readyDescriptor: Int32 = 3

    /// Starts the daemon and returns when it is ready.
    ///
    /// - Parameters:
    ///   - arguments: after the program's name; `--ready-fd N` is appended. Paths in them must be absolute.
    ///   - environment: all of the daemon's environment; paths in it must be absolute.
    ///   - logFile: where its standard output and error go; appended to, made with mode 0600 if need be. Nil: nowhere.
    ///   - limit: how long the start may take.
    ///   - executable: the program to start; this one by default.
    ///   - input: what it reads from standard input, to the end, before it says that it is ready.
    ///   - role: what it is called in sentences.
    /// - Returns: the daemon's process id.
    @discardableResult
    public static func start(
        arguments: [String], environment: [String: String], logFile: FilePath?,
        limit: Duration = .seconds(60), executable: FilePath? = nil, input: SecretBytes? = nil,
        as role: String = "the daemon"
    ) throws(Failure) -> Int32 {
        let words = ["passdir"] + arguments + [Readiness.option, String(readyDescriptor)]
        let (child, reading): (ChildProcess, CInt)
        do throws(Errno) {
            let log = try OwnedDescriptor(
                opening: logFile ?? "/dev/null", O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
            let ready = try Pipe()
            let given = try Pipe()
            child = try ChildProcess(
                words, program: executable?.string ?? OwnProgram.path, environment: environment,
                descriptors: [input == nil ? nil : given.reading.raw, log.raw, log.raw, ready.writing.raw],
                group: .newSession)
            let writing = given.takeWriting()
            if let input {
                BrokenPipe.isAnError()
                // Who does not read on has a sentence about it.
                try? input.withUnsafeBytes { (bytes) throws(Errno) in try writing.writeAll(bytes) }
            }
            reading = ready.takeReading().release()
        } catch {
            throw Failure(code: .notStarted, message: "cannot start \(role): \(error)")
        }
        defer { close(reading) }
        return try awaitReadiness(
            of: child, reading: reading, role: role, advice: logFile.map { "; see \($0)" } ?? "", limit: limit
        )
    }

    private static func awaitReadiness(
        of child: ChildProcess, reading: Int32, role: String, advice: String, limit: Duration
    ) throws(Failure) -> Int32 {
        let deadline = ContinuousClock.now + limit
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), line.count < 4096 {
            guard (try? Poll.wait(for: POLLIN, on: reading, until: deadline)) == true else {
                child.kill()
                child.wait()
                throw Failure(
                    code: .timedOut,
                    message: "\(role) was not ready within \(limit.components.seconds) s\(advice)")
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(reading, &chunk, chunk.count)
            if count > 0 { line += chunk.prefix(count) }
            if count == 0 || count < 0 && errno != EINTR { break }
        }
        guard line.last == UInt8(ascii: "\n") else {
            throw Failure(
                code: .died,
                message: "\(role) ended (\(words(for: child.wait()))) before it was ready\(advice)")
        }
        let sentence = String(decoding: line.dropLast(), as: UTF8.self)
        guard sentence == Readiness.ready else {
            // Who tries again must not meet the daemon that has just told why it ends.
            if child.waitForEnd(atMost: .seconds(10)) { child.wait() }
            throw Failure(code: .reported, message: sentence)
        }
        return child.pid
    }

    private static func words(for end: ChildProcess.End) -> String {
        switch end {
        case .exited(let status): "exit status \(status)"
        case .signalled(let signal): "signal \(signal)"
        case .unknown: "unknown status"
        }
    }
}
