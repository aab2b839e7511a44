import Glibc

/// A point in time as file systems keep it: seconds since 1970 and nanoseconds within the second.
public struct Timestamp: Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC; negative before.
    public var seconds: Int64
    /// Nanoseconds after `seconds`, 0 to 999 999 999.
    public var nanoseconds: Int64

    /// Makes a timestamp of its two parts.
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The time of the system's clock.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(time)
    }

    init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    var systemTime: timespec { timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)) }
}
