import Glibc

/// Which signals the calling thread takes.
public enum SignalMask {
    /// Runs `body` with no signal blocked in the calling thread: what is forked in it begins so, and keeps it through
    /// exec(2). For libraries that start programs by themselves.
    public static func withNoneBlocked<Value>(_ body: () -> Value) -> Value {
        var none = sigset_t()
        sigemptyset(&none)
        return with(none, body)
    }

    static func withAllBlocked<Value>(_ body: () -> Value) -> Value {
        var all = sigset_t()
        sigfillset(&all)
        return with(all, body)
    }

    private static func with<Value>(_ signals: sigset_t, _ body: () -> Value) -> Value {
        var (signals, before) = (signals, sigset_t())
        pthread_sigmask(SIG_SETMASK, &signals, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return body()
    }
}
