import CLinux
import Glibc
import OpenPGP
import System
import SystemPackage

/// A program that runs for us, with pipes for what it is told and for what it says.
///
/// It is in a process group of its own: Ctrl-C on a terminal reaches us first, and we end it.
final class ChildProcess {
    let pid: pid_t
    /// What it writes to standard output; closed with this object.
    let output: Int32
    private var status: Int32?

    /// Starts a program, found along PATH, with the environment of this process.
    /// - Parameters:
    ///   - input: written to its standard input, wiped by the caller; at most what fits a pipe (64 KiB).
    ///   - environment: variables that are added.
    init(_ words: [String], input: UnsafeRawBufferPointer, environment: [String: String]) throws(Errno) {
        let (inputRead, inputWrite) = try Self.pipe()
        defer {
            close(inputRead)
            close(inputWrite)
        }
        let (outputRead, outputWrite) = try Self.pipe()
        defer { close(outputWrite) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inputRead, 0)
        posix_spawn_file_actions_adddup2(&actions, outputWrite, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var variables = Self.environment()
        variables.merge(environment) { _, new in new }
        let argv = words.map { strdup($0) } + [nil]
        let envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in argv + envp { free(copy) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0], &actions, &attributes, argv, envp)
        guard code == 0 else {
            close(outputRead)
            throw Errno(rawValue: code)
        }
        pid = child
        output = outputRead
        var written = 0
        while written < input.count {
            let count = write(inputWrite, input.baseAddress! + written, input.count - written)
            if count < 0, errno != EINTR { break }
            written += max(count, 0)
        }
    }

    deinit {
        if status == nil { end() }
        close(output)
    }

    /// Ends it and what it started.
    func end() {
        kill(-pid, SIGKILL)
        _ = waitForEnd()
    }

    /// Its exit status; 128 and the signal's number when one ended it.
    func waitForEnd() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        let signal = raw & 0x7F
        let code = signal == 0 ? (raw >> 8) & 0xFF : 128 + signal
        status = code
        return code
    }

    /// Reads what it says next, up to `buffer.count` bytes; 0 at the end, nil when nothing came in time.
    func read(into buffer: UnsafeMutableRawBufferPointer, within limit: Duration) -> Int? {
        let milliseconds =
            limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        while true {
            let ready = poll(&entry, 1, Int32(clamping: milliseconds))
            if ready < 0, errno == EINTR { return nil }
            guard ready > 0 else { return nil }
            let count = Glibc.read(output, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            return max(count, 0)
        }
    }

    /// Runs a program to its end and gives what it said, as secret memory; `failed` for an exit status that is not 0.
    static func output(
        of words: [String], input: [UInt8], environment: [String: String], limit: Duration
    ) throws(Errno) -> SecretBytes {
        let child = try input.withUnsafeBytes { bytes in
            Result { () throws(Errno) in try ChildProcess(words, input: bytes, environment: environment) }
        }.get()
        let deadline = ContinuousClock.now + limit
        let collected = try SecretMessage(capacity: 65536)
        while true {
            let left = deadline - .now
            guard left > .zero, let count = child.read(into: collected.rest, within: left) else {
                throw .timedOut
            }
            if count == 0 { break }
            collected.count += count
        }
        guard child.waitForEnd() == 0 else { throw .ioError }
        return try SecretBytes(copying: collected.filled)
    }

    private static func pipe() throws(Errno) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Errno.last }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func environment() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let pair = entry.pointee {
            let text = String(cString: pair)
            if let split = text.firstIndex(of: "=") {
                variables[String(text[..<split])] = String(text[text.index(after: split)...])
            }
            entry += 1
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] { variables[name] = nil }
        return variables
    }
}

/// Memory for a message with a secret in it: pages of its own, locked where the limits allow, left out of core dumps and
/// wiped at the end of its life.
final class SecretMessage {
    private let base: UnsafeMutableRawBufferPointer
    /// How many bytes are filled.
    var count = 0

    init(capacity: Int) throws(Errno) {
        let start = mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { throw Errno.noMemory }
        madvise(start, capacity, Int32(MADV_DONTDUMP))
        mlock(start, capacity)
        base = UnsafeMutableRawBufferPointer(start: start, count: capacity)
    }

    deinit {
        guard let start = base.baseAddress else { return }
        explicit_bzero(start, base.count)
        munmap(start, base.count)
    }

    /// Where more bytes go.
    var rest: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: base[count...]) }
    /// What is there.
    var filled: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(base)[..<count])
    }

    /// Adds bytes; what does not fit is left out.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let fitting = min(bytes.count, rest.count)
        guard fitting > 0 else { return }
        rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<fitting]))
        count += fitting
    }
}
