import Dispatch
import Glibc

/// A thread for what blocks in a test, such as a file call on a mount.
public enum Thread {
    /// Starts a detached POSIX thread.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(code == 0, "no thread can be started: \(code)")
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// A result that a thread of the test computes while the test goes on.
public final class Background<Value: Sendable>: Sendable {
    private let ended = DispatchSemaphore(value: 0)
    // Written once by the thread before `ended` is signalled, read after that was waited for.
    nonisolated(unsafe) private var result: Result<Value, any Error>?

    /// Starts the work.
    public init(_ body: @escaping @Sendable () throws -> Value) {
        Thread.start { [self] in
            result = Result { try body() }
            ended.signal()
        }
    }

    /// The result; nil when it is not there in time. May be asked again.
    public func value(within limit: Duration = .seconds(30)) throws -> Value? {
        let milliseconds = Int(
            limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000)
        guard ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
        ended.signal()
        return try result?.get()
    }
}

/// How long the calling thread has had a processor, in nanoseconds.
///
/// What a bound of a test is measured in: beside other work a clock on the wall measures that work, too.
public func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
