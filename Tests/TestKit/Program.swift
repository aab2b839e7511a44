import CLinux
import Dispatch
import Glibc
import SystemPackage

/// What a program left behind when it ended.
public struct ProgramResult: Sendable {
    /// The exit status; 128 and the signal's number for a program that a signal ended, as a shell says it.
    public let exitCode: Int32
    /// What it wrote to standard output, byte for byte.
    public let standardOutput: [UInt8]
    /// What it wrote to standard error, byte for byte.
    public let standardError: [UInt8]
    /// Whether it was killed because its time was over.
    public let timedOut: Bool

    /// Standard output as text.
    public var output: String { String(decoding: standardOutput, as: UTF8.self) }
    /// Standard error as text.
    public var errors: String { String(decoding: standardError, as: UTF8.self) }
}

/// What went wrong in the set-up of a test, or was left behind by it.
public struct TestFailure: Error, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// A failure by its sentence.
    public init(_ description: String) {
        self.description = description
    }
}

/// A program that runs for a test, in a process group of its own so that it can be ended with its children.
///
/// Its output goes to unlinked files, not pipes: a child that lives on and holds them keeps nobody waiting.
public final class Program: Sendable {
    /// The process id; the id of its process group, too.
    public let pid: pid_t
    private let name: String
    private let output: FileDescriptor
    private let errors: FileDescriptor
    private let ended = DispatchSemaphore(value: 0)
    // Written once by the waiting thread before `ended` is signalled, read after that was waited for.
    nonisolated(unsafe) private var status: Int32 = 0

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: the program, found along the PATH of `environment`, and its arguments.
    ///   - environment: all of its environment.
    ///   - input: what it reads from standard input.
    ///   - directory: where it runs.
    public init(
        _ words: [String], environment: [String: String], input: [UInt8] = [], directory: FilePath
    ) throws {
        name = words.prefix(3).joined(separator: " ")
        let given = try Self.unlinkedFile()
        defer { try? given.close() }
        try given.writeAll(input)
        try given.seek(offset: 0, from: .start)
        output = try Self.unlinkedFile()
        errors = try Self.unlinkedFile()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, given.rawValue, 0)
        posix_spawn_file_actions_adddup2(&actions, output.rawValue, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.rawValue, 2)
        // A file of a mount that the test has open must not be closed, and so saved, by every program that ends.
        passdir_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Dispatch blocks signals on its threads, and tests run on these: a program must not inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        passdir_spawn_in(&actions, directory.string)
        // Where it is not found, env(1) says so.
        let found = Self.place(of: words[0], environment)
        let words = found == nil ? ["/usr/bin/env", "--"] + words : words
        let argv = words.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in argv + envp { free(copy) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, found ?? "/usr/bin/env", &actions, &attributes, argv, envp)
        guard code == 0 else { throw TestFailure("cannot start \(name): \(Errno(rawValue: code))") }
        pid = child
        Thread.start { [self] in
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            ended.signal()
        }
    }

    /// The program of a name along the PATH that it is given; nil where there is none.
    private static func place(of name: String, _ environment: [String: String]) -> String? {
        guard !name.contains("/") else { return name }
        return (environment["PATH"] ?? "").split(separator: ":").lazy.map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }

    /// Waits for the end; kills the process group when the time is over.
    public func wait(limit: Duration = .seconds(60)) throws -> ProgramResult {
        let milliseconds = Int(
            limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000)
        let timedOut = ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut
        if timedOut {
            kill(-pid, SIGKILL)
            guard ended.wait(timeout: .now() + .seconds(10)) == .success else {
                throw TestFailure("\(name) (process \(pid)) does not end, not even by SIGKILL")
            }
        }
        ended.signal()
        let signal = status & 0x7F
        return ProgramResult(
            exitCode: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
            standardOutput: try Self.contents(of: output), standardError: try Self.contents(of: errors),
            timedOut: timedOut)
    }

    /// Whether it has ended.
    public var hasEnded: Bool {
        guard ended.wait(timeout: .now()) == .success else { return false }
        ended.signal()
        return true
    }

    /// Sends a signal to the program alone.
    public func signal(_ number: Int32) {
        kill(pid, number)
    }

    deinit {
        try? output.close()
        try? errors.close()
    }

    /// On a disk, three new files for each program are much of what a test takes.
    private static let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

    private static func unlinkedFile() throws -> FileDescriptor {
        var template = Array("\(folder)/pd-io-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // Several processes write to it: each at the end.
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        unlink(template)
        return FileDescriptor(rawValue: descriptor)
    }

    private static func contents(of file: FileDescriptor) throws -> [UInt8] {
        let size = Int(try file.seek(offset: 0, from: .end))
        return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let more = try file.read(fromAbsoluteOffset: Int64(count), into: rest)
                guard more > 0 else { return }
                count += more
            }
        }
    }
}
