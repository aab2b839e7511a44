import CLinux
import Glibc
import SystemPackage

/// Starts this program anew as a daemon, and waits until it says how its start went.
///
/// A fork without exec is not safe once Swift runs threads, so the daemon is a fresh process of the same
/// executable: a session of its own, `/` as working directory, `/dev/null` to read, a log file to write.
public enum Detached {
    /// Why no daemon runs now.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
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
        /// The sentence.
        public var description: String { message }
    }

    /// The descriptor that the daemon inherits for its readiness; the first after the standard three.
    static let readyDescriptor: Int32 = 3
    /// POSIX_SPAWN_SETSID of <spawn.h>, which is declared under _GNU_SOURCE only.
    private static let newSession: Int16 = 0x80

    /// Starts the daemon and returns when it is ready.
    ///
    /// - Parameters:
    ///   - arguments: after the program's name; `--ready-fd N` is appended. Paths in them must be absolute.
    ///   - environment: all of the daemon's environment; paths in it must be absolute.
    ///   - logFile: where its standard output and error go; appended to, made with mode 0600 if need be.
    ///   - limit: how long the start may take.
    ///   - executable: the program to start; this one by default.
    /// - Returns: the daemon's process id.
    @discardableResult
    public static func start(
        arguments: [String], environment: [String: String], logFile: FilePath,
        limit: Duration = .seconds(60), executable: FilePath? = nil
    ) throws(Failure) -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw notStarted(errno) }
        // Above the descriptors that the file actions assign, so that these overwrite none of ours.
        let reading = fcntl(ends[0], F_DUPFD_CLOEXEC, 10)
        let writing = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
        close(ends[0])
        close(ends[1])
        defer { close(reading) }
        guard reading >= 0, writing >= 0 else { throw notStarted(errno) }
        let words = ["passdir"] + arguments + [Readiness.option, String(readyDescriptor)]
        var pid: pid_t = 0
        let code = spawn(
            executable?.string ?? ownExecutable, words, environment, logFile, pipe: writing, pid: &pid)
        close(writing)
        guard code == 0 else { throw notStarted(code) }
        return try awaitReadiness(of: pid, reading: reading, logFile: logFile, limit: limit)
    }

    private static func awaitReadiness(
        of pid: pid_t, reading: Int32, logFile: FilePath, limit: Duration
    ) throws(Failure) -> Int32 {
        let deadline = ContinuousClock.now + limit
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n"), line.count < 4096 {
            guard (try? Wait.until(POLLIN, on: reading, deadline: deadline)) == true else {
                kill(pid, SIGKILL)
                _ = waited(pid)
                throw Failure(
                    code: .timedOut,
                    message: "the daemon was not ready within \(limit.components.seconds) s; see \(logFile)")
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(reading, &chunk, chunk.count)
            if count > 0 { line += chunk.prefix(count) }
            if count == 0 || count < 0 && errno != EINTR { break }
        }
        guard line.last == UInt8(ascii: "\n") else {
            throw Failure(
                code: .died, message: "the daemon ended (\(waited(pid))) before it was ready; see \(logFile)")
        }
        let sentence = String(decoding: line.dropLast(), as: UTF8.self)
        guard sentence == Readiness.ready else {
            awaitEnd(of: pid)
            throw Failure(code: .reported, message: sentence)
        }
        return pid
    }

    /// Who tries again must not meet the daemon that has just told why it ends.
    private static func awaitEnd(of pid: pid_t) {
        let handle = passdir_pidfd_open(pid)
        guard handle >= 0 else { return }
        defer { close(handle) }
        guard (try? Wait.until(POLLIN, on: handle, deadline: .now + .seconds(10))) == true else { return }
        _ = waited(pid)
    }

    private static func spawn(
        _ executable: String, _ words: [String], _ environment: [String: String], _ logFile: FilePath,
        pipe: Int32, pid: inout pid_t
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, logFile.string, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        posix_spawn_file_actions_adddup2(&actions, pipe, readyDescriptor)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | newSession
        posix_spawnattr_setflags(&attributes, flags)
        return withStrings(words) { argv in
            withStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                posix_spawn(&pid, executable, &actions, &attributes, argv, envp)
            }
        }
    }

    /// The path of this program; its link in /proc when the file was replaced since we started. The path is
    /// preferred, as the last part of it becomes the name in `ps`.
    private static var ownExecutable: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return count > 0 && access(path, X_OK) == 0 ? path : "/proc/self/exe"
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    /// Takes the end of a child of ours, and says what it was.
    private static func waited(_ pid: pid_t) -> String {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return "unknown status" }
        }
        let signal = status & 0x7F
        return signal == 0 ? "exit status \((status >> 8) & 0xFF)" : "signal \(signal)"
    }

    private static func notStarted(_ code: Int32) -> Failure {
        Failure(code: .notStarted, message: "cannot start the daemon: \(Errno(rawValue: code))")
    }
}
