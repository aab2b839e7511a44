import CLinux
import Glibc
import SystemPackage

/// A program that runs for us, in a process group of its own so that it can be ended with all its children.
///
/// It gets the standard descriptors and one more at most; every other of ours is closed in it.
struct ChildProgram {
    /// The process id and the group's.
    let pid: pid_t

    /// Starts a program.
    /// - Parameters:
    ///   - words: the program, looked up in PATH unless it has a slash, and its arguments.
    ///   - environment: all of its environment.
    ///   - directory: where it runs; nil: here.
    ///   - descriptors: ours, all above 9, to be its 0, 1, 2 and so on; nil is /dev/null.
    init(
        _ words: [String], environment: [String: String], directory: FilePath? = nil, descriptors: [CInt?],
        ownGroup: Bool = true
    ) throws(Errno) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, CInt(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, CInt(number), "/dev/null", O_RDWR, 0)
            }
        }
        passdir_spawn_close_from(&actions, CInt(descriptors.count))
        if let directory {
            _ = directory.withPlatformString { passdir_spawn_in(&actions, $0) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        if ownGroup { flags |= Int16(POSIX_SPAWN_SETPGROUP) }
        posix_spawnattr_setflags(&attributes, flags)
        let argv = words.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in argv + envp { free(copy) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0], &actions, &attributes, argv, envp)
        guard code == 0 else { throw Errno(rawValue: code) }
        pid = child
    }

    /// Ends it and its children at once.
    func end() {
        kill(-pid, SIGKILL)
        kill(pid, SIGKILL)
    }

    /// Waits until it has ended, at most so long; `wait` is still to be called.
    func waitForEnd(atMost limit: Duration) {
        let descriptor = passdir_pidfd_open(pid)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let end = ContinuousClock.now + limit
        while .now < end {
            let left = (end - .now).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, Int32(clamping: milliseconds)) > 0 { return }
        }
    }

    /// Waits for its end. Its exit status; 128 and the signal's number when a signal ended it.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return 255 }
        }
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }

    /// What a program that ran to its end has left.
    struct Outcome {
        /// The exit status; 124 when its time was over.
        var status: Int32
        /// What it wrote to standard output.
        var output: [UInt8]
        /// What it wrote to standard error.
        var errors: String
    }

    /// Runs a program to its end, at most `timeout`. Blocks the thread.
    static func run(
        _ words: [String], environment: [String: String], directory: FilePath? = nil, input: [UInt8] = [],
        timeout: Duration, ownGroup: Bool = true
    ) throws(Errno) -> Outcome {
        var output: [UInt8] = []
        var outcome = try run(
            words, environment: environment, directory: directory, input: input, timeout: timeout,
            ownGroup: ownGroup
        ) { output.append(contentsOf: $0) }
        outcome.output = output
        return outcome
    }

    /// As above; `hear` gets what it writes to standard output, piece by piece, and nobody else does.
    static func run(
        _ words: [String], environment: [String: String], directory: FilePath? = nil, input: [UInt8] = [],
        timeout: Duration, ownGroup: Bool = true, hear: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Outcome {
        let given = try ChildPipe()
        let output = try ChildPipe()
        let errors = try ChildPipe()
        let child = try ChildProgram(
            words, environment: environment, directory: directory,
            descriptors: [given.reading, output.writing, errors.writing], ownGroup: ownGroup)
        given.closeReading()
        output.closeWriting()
        errors.closeWriting()
        let end = ContinuousClock.now + timeout
        var (unsent, heard, said) = (input[...], 0, [UInt8]())
        var isOver = false
        if unsent.isEmpty { given.closeWriting() }
        while output.reading >= 0 || errors.reading >= 0 {
            var entries = [
                pollfd(fd: output.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errors.reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: given.writing, events: Int16(POLLOUT), revents: 0),
            ]
            let left = end - .now
            guard left > .zero, !isOver else {
                child.end()
                child.wait()
                return Outcome(status: 124, output: [], errors: String(decoding: said, as: UTF8.self))
            }
            let milliseconds =
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            _ = poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds + 1))
            if entries[0].revents != 0 {
                let goesOn = output.read { piece in
                    heard += piece.count
                    hear(piece)
                }
                if !goesOn { output.closeReading() }
            }
            if entries[1].revents != 0, !errors.read({ said += $0 }) { errors.closeReading() }
            if entries[2].revents != 0 {
                let count = unsent.withUnsafeBytes {
                    write(given.writing, $0.baseAddress, min($0.count, 4096))
                }
                if count > 0 { unsent = unsent.dropFirst(count) }
                if count < 0 && errno != EINTR || unsent.isEmpty { given.closeWriting() }
            }
            // A program that writes without end.
            isOver = heard + said.count > 16 << 20
        }
        return Outcome(
            status: child.wait(), output: [], errors: String(decoding: said, as: UTF8.self))
    }

    /// The variables of this process, without those that would lead git to another repository or to a question on a
    /// terminal.
    static var environment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let pair = entry.pointee {
            let text = String(cString: pair)
            if let split = text.firstIndex(of: "=") {
                variables[String(text[..<split])] = String(text[text.index(after: split)...])
            }
            entry += 1
        }
        for name in [
            "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
            "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
            "GIT_DISCOVERY_ACROSS_FILESYSTEM",
            "GIT_ASKPASS",
        ] {
            variables[name] = nil
        }
        variables["GIT_TERMINAL_PROMPT"] = "0"
        // Whatever runs git in the end finds no repository that nobody named.
        variables["GIT_CEILING_DIRECTORIES"] = "/"
        return variables
    }
}

/// A pipe whose ends are closed once, both above the descriptors that a child's are made of.
private final class ChildPipe {
    private(set) var reading: CInt
    private(set) var writing: CInt

    init() throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        reading = fcntl(ends[0], F_DUPFD_CLOEXEC, 10)
        writing = fcntl(ends[1], F_DUPFD_CLOEXEC, 10)
        close(ends[0])
        close(ends[1])
        guard reading >= 0, writing >= 0 else { throw .tooManyOpenFiles }
    }

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
