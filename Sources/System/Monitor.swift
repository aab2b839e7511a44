public import Glibc

// Sendable because the value is touched only between lock and unlock of `mutex`.
/// A value under a lock that threads can also wait on, which `Synchronization.Mutex` doesn't offer.
public final class Monitor<Value>: @unchecked Sendable {
    /// What a waiting thread does next.
    public enum Step<Result> {
        /// The wait is over.
        case done(Result)
        /// Wait for a signal, at most until then.
        case wait(until: MonotonicTime?)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    /// A lock around a value.
    public init(_ value: sending Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The wall clock jumps; a wait must not.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the lock held.
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }

    /// Runs `step` with the lock held, again and again until it is done. Between two runs the lock is let go until
    /// a signal comes or the time is over (which `step` is told) or for no reason. `step` ends before the wait
    /// begins, so that no access to the value spans it.
    public func waiting<Result>(_ step: (inout Value, _ timeIsOver: Bool) -> Step<Result>) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var timeIsOver = false
        while true {
            switch step(&value, timeIsOver) {
            case .done(let result): return result
            case .wait(until: nil): pthread_cond_wait(condition, mutex)
            case .wait(let deadline?):
                var time = deadline.systemTime
                timeIsOver = pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT
            }
        }
    }

    /// Wakes one waiting thread.
    public func signal() { pthread_cond_signal(condition) }

    /// Wakes every waiting thread.
    public func broadcast() { pthread_cond_broadcast(condition) }
}

/// A point on the clock that only goes forward.
public struct MonotonicTime: Sendable {
    /// For calls that take CLOCK_MONOTONIC.
    public let systemTime: timespec

    /// This moment.
    public static var now: MonotonicTime { MonotonicTime(secondsFromNow: 0) }

    /// This moment, in nanoseconds since the clock began.
    public static var nanoseconds: UInt64 {
        let time = timespec(on: CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// So many seconds from now: none when they are negative, and no more than 30 years.
    public init(secondsFromNow seconds: Double) {
        let time = timespec(on: CLOCK_MONOTONIC)
        let nanoseconds = Int64(min(max(seconds, 0), 1e9) * 1e9) + Int64(time.tv_nsec)
        systemTime = timespec(
            tv_sec: time.tv_sec + Int(nanoseconds / 1_000_000_000),
            tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// The same moment on this clock, which stands still while the system sleeps.
    public init(_ moment: ContinuousClock.Instant) {
        self.init(secondsFromNow: (moment - .now) / .seconds(1))
    }
}

extension MonotonicTime: Comparable {
    private var order: (Int, Int) { (systemTime.tv_sec, systemTime.tv_nsec) }

    /// Whether two are the same moment.
    public static func == (one: Self, other: Self) -> Bool { one.order == other.order }

    /// Whether one comes before the other.
    public static func < (one: Self, other: Self) -> Bool { one.order < other.order }
}
