import Glibc

/// What a process that talks to a server may use: whatever the server sends, this machine's memory and disk are not
/// filled. Programs that it starts inherit it.
public enum TransferBounds {
    /// Memory that is not a file's: a list of branches, an object with its delta.
    static let memory: rlim_t = 1 << 30
    /// The greatest file: a pack.
    static let file: rlim_t = 4 << 30

    /// Sets the bounds for this process.
    public static func set() {
        // A write beyond the bound fails then (EFBIG), and so does the transfer, with a sentence.
        signal(SIGXFSZ, SIG_IGN)
        lower(__rlimit_resource_t(RLIMIT_DATA.rawValue), to: memory)
        lower(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), to: file)
    }

    private static func lower(_ resource: __rlimit_resource_t, to bound: rlim_t) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_max = min(limit.rlim_max, bound)
        limit.rlim_cur = min(limit.rlim_cur, bound)
        setrlimit(resource, &limit)
    }
}
