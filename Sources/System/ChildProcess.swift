import CLinux
import Glibc
public import SystemPackage

/// A program that was started by us: with no signal blocked, every signal's default action, and no descriptor of ours but
/// those that it was given.
///
/// posix_spawn(3), as a fork is unsafe once there are threads.
public struct ChildProcess: Sendable {
    /// Which processes a program is with: who is sent a terminal's signals, and what is ended together.
    public enum Group: Sendable {
        /// Ours: Ctrl-C on the terminal reaches it.
        case ours
        /// One of its own, so that it can be ended with all that it starts.
        case own
        /// One of its own in a new session, without a terminal.
        case newSession
    }

    /// How a program ended.
    public enum End: Sendable, Equatable {
        /// By itself, with an exit status.
        case exited(Int32)
        /// By a signal.
        case signalled(Int32)
        /// Somebody else has waited for it.
        case unknown

        /// As a shell tells it: the exit status, or 128 and the signal's number; 255 where it is not known.
        public var status: Int32 {
            switch self {
            case .exited(let status): status
            case .signalled(let signal): 128 + signal
            case .unknown: 255
            }
        }
    }

    /// The process id, and that of its group where it has one of its own.
    public let pid: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: its name and its arguments.
    ///   - program: where it is, looked up in PATH unless it has a slash; nil: its name says it.
    ///   - environment: all of its environment.
    ///   - directory: where it runs; nil: here.
    ///   - descriptors: ours that are to be its 0, 1, 2 and so on; nil is /dev/null. All others are closed in it.
    /// - Throws: ENOENT when there is no such program, EAGAIN when there are too many processes.
    public init(
        _ words: [String], program: String? = nil, environment: [String: String],
        directory: FilePath? = nil, descriptors: [CInt?], group: Group = .own
    ) throws(Errno) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Out of the way first: one of ours may have the number that another gets. Open until the program has started.
        var copies: [CInt] = []
        defer { for copy in copies { close(copy) } }
        for (number, descriptor) in descriptors.enumerated() {
            // A standard descriptor may be closed here: then it leads nowhere there.
            guard let descriptor, descriptor > STDERR_FILENO || fcntl(descriptor, F_GETFD) >= 0 else {
                posix_spawn_file_actions_addopen(&actions, CInt(number), "/dev/null", O_RDWR, 0)
                continue
            }
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, CInt(max(10, descriptors.count)))
            guard copy >= 0 else { throw .last }
            copies.append(copy)
            posix_spawn_file_actions_adddup2(&actions, copy, CInt(number))
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
        switch group {
        case .ours: break
        case .own: flags |= Int16(POSIX_SPAWN_SETPGROUP)
        // POSIX_SPAWN_SETSID of <spawn.h>, which is declared under _GNU_SOURCE only.
        case .newSession: flags |= 0x80
        }
        posix_spawnattr_setflags(&attributes, flags)
        let argv = words.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in argv + envp { free(copy) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, program ?? words[0], &actions, &attributes, argv, envp)
        guard code == 0 else { throw Errno(rawValue: code) }
        pid = child
    }

    /// Ends it at once, and its group where that is its own.
    public func kill() {
        Glibc.kill(-pid, SIGKILL)
        Glibc.kill(pid, SIGKILL)
    }

    /// Waits until it has ended, at most so long, and says whether it has; `wait` is still to be called.
    @discardableResult
    public func waitForEnd(atMost limit: Duration) -> Bool {
        let opened = passdir_pidfd_open(pid)
        guard opened >= 0 else { return false }
        let process = OwnedDescriptor(opened)
        return (try? Poll.wait(for: POLLIN, on: process.raw, until: .now + limit)) == true
    }

    /// Waits for its end; once.
    @discardableResult
    public func wait() -> End {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return .unknown }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }
}
