import Glibc

/// Bounds of a process that fetches or clones: what comes in is somebody else's, and it ends on our disk and in our
/// memory.
public enum TransferLimits {
    /// A pack of at most a gigabyte is indexed in far less. Beyond it the transfer fails, not the machine.
    private static let memory: rlim_t = 1 << 30
    /// More objects than a store ever sends; indexing takes memory for each.
    private static let objects = 2_000_000
    /// RLIMIT_FSIZE and RLIMIT_DATA, the same on every Linux port; Swift does not import the names.
    private static let (fileSize, data) = (__rlimit_resource_t(1), __rlimit_resource_t(2))

    /// The greatest file, whatever is allowed.
    private static let greatest: rlim_t = 4 << 30

    /// Lowers the limits of this process and of the git programs that it starts from now on.
    /// - Parameter bytes: how many may come; nil: none of the user's business.
    public static func apply(bytes: Int?) {
        // The signal would end the process before it could say why.
        signal(SIGXFSZ, SIG_IGN)
        lower(fileSize, to: min(bytes.map { rlim_t(clamping: $0) } ?? greatest, greatest))
        lower(data, to: memory)
    }

    private static func lower(_ resource: __rlimit_resource_t, to value: rlim_t) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = min(value, limit.rlim_max)
        limit.rlim_max = limit.rlim_cur
        setrlimit(resource, &limit)
    }

    /// Whether a transfer may go on.
    public static func allow(_ progress: TransferProgress, bytes: Int) -> Bool {
        progress.bytes <= bytes && progress.totalObjects <= objects
    }

    /// Whether a failure is one of those that these limits cause, told by its words: those of libgit2, and of git.
    public static func caused(_ message: String) -> Bool {
        ["File too large", "signal 25", "ut of memory", "larger than is allowed"].contains {
            message.contains($0)
        }
    }

    /// What is wrong then; no full stop.
    public static func sentence(bytes: Int) -> String {
        "the remote sends more than the \(bytes) bytes that limits.transfer allows, or data that needs too much memory"
    }
}
