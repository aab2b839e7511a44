import Glibc

/// What the signals that wait for a caller say about its wait for us.
///
/// The kernel tells a file system once a request that its caller got a signal, any signal, and not which; see
/// `request_wait_answer` in Linux's fs/fuse/dev.c. The caller takes none of them before it has its answer, so that
/// they are still listed in `/proc/TID/status`, proc_pid_status(5).
public enum PendingSignals: Sendable, Equatable {
    /// One of them ends the caller, whatever it is answered.
    case fatal
    /// One of them stops the caller, or is handled by it, and may be meant to end the wait: Ctrl-C, an alarm.
    case handled
    /// The caller handles each of them, and none is meant to end a wait: a child ended, a window changed its size.
    case incidental
    /// There is none: the system is about to sleep, the caller is traced, or another of its threads took the signal.
    case none
    /// The caller cannot be looked at; its process is in another namespace.
    case unknown

    /// Signals that by default do nothing, and those that count the processor's time, as a profiler has them sent.
    private static let harmless = mask([SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGPROF, SIGVTALRM])
    private static let ignoredByDefault = mask([SIGCHLD, SIGCONT, SIGURG, SIGWINCH])
    private static let stopping = mask([SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU])

    /// Looks at a thread.
    init(ofThread thread: Int32) {
        // The list of groups stands before the signals and may be long.
        guard thread > 0, let text = Caller.text(of: "status", ofProcess: thread, limit: 65_536) else {
            self = .unknown
            return
        }
        self.init(status: text)
    }

    /// Reads what `/proc/TID/status` holds.
    init(status: String) {
        var masks: [Substring: UInt64] = [:]
        for line in status.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == "\t" || $0 == " " }
            guard value.utf8.count == 16, let mask = UInt64(value, radix: 16) else { continue }
            masks[line[..<colon]] = mask
        }
        guard let thread = masks["SigPnd"], let process = masks["ShdPnd"], let blocked = masks["SigBlk"],
            let ignored = masks["SigIgn"], let caught = masks["SigCgt"]
        else {
            self = .unknown
            return
        }
        let kill = Self.mask([SIGKILL])
        let pending = (thread | process) & ~(blocked & ~kill) & ~ignored
        let uncaught = pending & ~caught & ~Self.ignoredByDefault
        if uncaught & ~Self.stopping != 0 {
            self = .fatal
        } else if uncaught != 0 || pending & caught & ~Self.harmless != 0 {
            self = .handled
        } else {
            self = pending & caught != 0 ? .incidental : .none
        }
    }

    private static func mask(_ signals: [Int32]) -> UInt64 {
        signals.reduce(0) { $0 | 1 << UInt64($1 - 1) }
    }
}
