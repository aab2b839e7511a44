import Glibc

/// How long a password serves until it is to be changed: `90d`, `12w`, `6m`, `1y`.
public struct RotationPeriod: Sendable, Equatable, CustomStringConvertible {
    /// What is counted; months and years are those of the calendar.
    private enum Unit: UInt8 {
        case day = 0x64
        case week = 0x77
        case month = 0x6d
        case year = 0x79
    }

    private static let mostDigits = 4
    private let count: Int32
    private let unit: Unit

    /// Reads a number from 1 to 9999 and one of `d`, `w`, `m` and `y`, in either case and with white space before it or
    /// without; nil for anything else.
    public init?(_ text: UnsafeRawBufferPointer) {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        guard let end = text.lastIndex(where: { !isSpace($0) }), let unit = Unit(rawValue: text[end] | 0x20),
            let first = text.firstIndex(where: { !isSpace($0) }),
            let last = text[..<end].lastIndex(where: { !isSpace($0) }), last - first < Self.mostDigits
        else { return nil }
        var count: Int32 = 0
        for byte in text[first...last] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            count = count * 10 + Int32(byte - UInt8(ascii: "0"))
        }
        guard count > 0 else { return nil }
        (self.count, self.unit) = (count, unit)
    }

    /// As above, of text that is no secret.
    public init?(_ text: String) {
        var text = text
        guard let period = text.withUTF8({ RotationPeriod(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = period
    }

    /// As it is written: `90d`.
    public var description: String { "\(count)\(Character(UnicodeScalar(unit.rawValue)))" }

    /// When something that was made at a moment is due, both in seconds since 1970. The month after the 31st of January ends
    /// with February.
    public func end(from start: Int64) -> Int64 {
        switch unit {
        case .day: return start + Int64(count) * 86400
        case .week: return start + Int64(count) * 7 * 86400
        case .month: return Self.adding(months: count, to: start)
        case .year: return Self.adding(months: count * 12, to: start)
        }
    }

    private static func adding(months: Int32, to start: Int64) -> Int64 {
        var moment = time_t(start)
        var fields = tm()
        guard gmtime_r(&moment, &fields) != nil else { return .max }
        let day = fields.tm_mday
        fields.tm_mon += months
        var wanted = fields
        let end = timegm(&wanted)
        guard wanted.tm_mday != day else { return Int64(end) }
        // timegm(3) takes the 31st of February for the 3rd of March: the last day before that month's first.
        return Int64(end) - Int64(wanted.tm_mday) * 86400
    }
}
