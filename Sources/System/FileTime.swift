public import Glibc

/// A point in time as the file system keeps it.
public struct FileTime: Sendable, Hashable {
    /// Seconds since 1970-01-01T00:00:00Z; negative before.
    public var seconds: Int64
    /// Nanoseconds within the second, 0 to 999,999,999.
    public var nanoseconds: Int64

    /// A time from its two parts.
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// A time as stat(2) gives it.
    public init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    /// The system's clock, now.
    public static var now: FileTime { FileTime(timespec(on: CLOCK_REALTIME)) }
}

extension timespec {
    /// What a clock shows now.
    public init(on clock: clockid_t) {
        self.init()
        clock_gettime(clock, &self)
    }

    /// The same time.
    public init(_ time: FileTime) {
        self.init(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanoseconds))
    }

    /// A time for utimensat(2); nil leaves it as it is (UTIME_OMIT, a macro that is not imported).
    public init(settingTo time: FileTime?) {
        self = time.map { timespec($0) } ?? timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2)
    }
}
