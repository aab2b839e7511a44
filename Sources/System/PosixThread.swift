import CLinux
import Glibc
public import SystemPackage

/// A POSIX thread for work that blocks, so that Swift's shared threads never do.
///
/// Every signal is blocked in it: signals reach the main thread, whose business they are. A program that it starts with
/// fork(2) inherits that; see `SignalMask`.
public struct PosixThread: Sendable {
    private let identity: pthread_t

    /// Starts a thread that is joined.
    ///
    /// - Parameters:
    ///   - name: what `ps -L` and a debugger show; the kernel keeps 15 bytes.
    ///   - stackByteCount: the room for its stack; memory is taken as it is touched. nil: what the system gives.
    /// - Throws: EAGAIN when the system allows no more threads.
    public init(
        named name: String, stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        identity = try Self.create(name, stackByteCount, isDetached: false, body)
    }

    /// The calling thread's id, as `/proc/self/task` lists it.
    public static var currentIdentifier: pid_t { passdir_gettid() }

    /// Waits until the thread has ended; once.
    public func join() { pthread_join(identity, nil) }

    /// Stops the calling thread for so long; not at all when that is negative.
    public static func sleep(for time: Duration) {
        let (seconds, attoseconds) = time.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }

    /// Does work on a thread that nobody joins: one that has just become idle, or a new one.
    ///
    /// Parameters and errors as of `init`; a thread of another stack size is always a new one.
    public static func start(
        named name: String, stackByteCount: Int? = nil, _ body: @escaping @Sendable () -> Void
    ) throws(Errno) {
        guard let stackByteCount else { return try ReusedThreads.shared.start(Work(name: name, body: body)) }
        _ = try create(name, stackByteCount, isDetached: true, body)
    }

    /// As `start`, on a new thread.
    static func startNew(named name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        _ = try create(name, nil, isDetached: true, body)
    }

    /// Starts a thread that nobody joins as soon as the system allows one, which is usually at once; returns at once.
    public static func startWhenPossible(named name: String, _ body: @escaping @Sendable () -> Void) {
        DeferredStarts.shared.add(Work(name: name, body: body))
    }

    /// Makes sure that starts that have to wait are tried again even when nothing else happens; a daemon calls it
    /// while there are still threads to be had.
    ///
    /// - Throws: EAGAIN when there is none.
    public static func prepareDeferredStarts() throws(Errno) {
        try DeferredStarts.shared.prepare()
    }

    /// Runs work that blocks on a thread of its own, as soon as there is one, and waits without blocking.
    ///
    /// The caller goes on where it was: a detour over Swift's shared threads would wait for whatever blocks them.
    public nonisolated(nonsending) static func run<Value: Sendable>(
        named name: String, _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            startWhenPossible(named: name) { continuation.resume(returning: work()) }
        }
    }

    private static func create(
        _ name: String, _ stackByteCount: Int?, isDetached: Bool, _ body: @escaping @Sendable () -> Void
    ) throws(Errno) -> pthread_t {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        // A new thread has its creator's mask from its first instruction on.
        let code = SignalMask.withAllBlocked {
            passdir_thread_create(
                &thread, stackByteCount ?? 0, isDetached ? 1 : 0,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                }, work.toOpaque())
        }
        guard code == 0 else {
            work.release()
            throw Errno(rawValue: code)
        }
        return thread
    }

    /// What a thread is started for.
    final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            name.withCString { _ = passdir_prctl(PR_SET_NAME, UInt(bitPattern: $0)) }
            body()
        }
    }
}
