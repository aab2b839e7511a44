import Glibc

/// What becomes of a write to a pipe or socket that nobody reads any more.
public enum BrokenPipe {
    /// Makes it fail with EPIPE, where it would end this process. gpgme asks for that: it writes to a gpg that may have
    /// ended.
    ///
    /// SIGPIPE is caught, not ignored: what is ignored stays so in programs that are started, a handler does not outlive
    /// exec(2).
    public static func isAnError() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        action.sa_flags = SA_RESTART
        sigaction(SIGPIPE, &action, nil)
    }

    /// Ends this process as it ends other programs: for one that prints for a reader who has gone.
    public static func end() -> Never {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        exit(128 + SIGPIPE)
    }
}
