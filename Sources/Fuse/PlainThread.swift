import Glibc

/// A POSIX thread. What a `Filesystem` does may block, and Swift's own threads must not.
struct PlainThread {
    private let identity: pthread_t

    /// Room enough for a file system's code; the memory is taken as it is touched.
    private static let stackByteCount = 2 << 20

    /// Starts a thread that runs `body`; nil when the system allows no further thread. Every signal is blocked
    /// in it, so that signals reach the threads of the program, whose business they are.
    init?(detached: Bool, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, Self.stackByteCount)
        if detached { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }

        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let start = Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard failure == 0 else {
            start.release()
            return nil
        }
        identity = thread
    }

    /// Waits until the thread has ended; once, and only for one that isn't detached.
    func join() { pthread_join(identity, nil) }

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
