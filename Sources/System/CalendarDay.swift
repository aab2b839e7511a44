import Glibc

/// A day, as a credential's expiry is told and shown: `2027-01-31`, in UTC.
public struct CalendarDay: Sendable, Hashable, CustomStringConvertible {
    /// Seconds since 1970 when the day begins.
    public let start: Int64

    /// The day that a moment lies in.
    public init(containing seconds: Int64) {
        // A file that keeps an expiry may hold any number: to no day of the calendar is nothing lost.
        let seconds = min(max(seconds, -(1 << 55)), 1 << 55)
        start = seconds - ((seconds % 86400) + 86400) % 86400
    }

    /// Reads `YYYY-MM-DD`; nil for what is no day.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], parts.allSatisfy({ $0.allSatisfy(\.isNumber) }),
            let year = Int32(parts[0]), let month = Int32(parts[1]), let day = Int32(parts[2])
        else { return nil }
        var fields = tm()
        fields.tm_year = year - 1900
        fields.tm_mon = month - 1
        fields.tm_mday = day
        let seconds = timegm(&fields)
        self.init(containing: Int64(seconds))
        // timegm(3) takes the 31st of June for the 1st of July.
        guard description == text else { return nil }
    }

    /// Seconds since 1970 when the day ends.
    public var end: Int64 { start + 86400 }

    /// `YYYY-MM-DD`.
    public var description: String {
        var seconds = time_t(start)
        var fields = tm()
        gmtime_r(&seconds, &fields)
        var buffer = [CChar](repeating: 0, count: 32)
        strftime(&buffer, 32, "%Y-%m-%d", &fields)
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
