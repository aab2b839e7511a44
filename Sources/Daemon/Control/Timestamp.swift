import Glibc

/// A moment in reports, to the second; written as ISO 8601 in UTC (`2025-11-20T22:38:00Z`) everywhere.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z.
    public let seconds: Int64

    /// A moment by its seconds since 1970-01-01T00:00:00Z.
    public init(seconds: Int64) {
        self.seconds = seconds
    }

    /// The clock's present moment.
    public static func now() -> Timestamp {
        Timestamp(seconds: Int64(time(nil)))
    }

    /// Reads the one form that `description` writes; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54,
            bytes[13] == 0x3A, bytes[16] == 0x3A, bytes[19] == 0x5A
        else { return nil }
        func number(_ range: Range<Int>) -> Int32? {
            bytes[range].allSatisfy { (0x30...0x39).contains($0) }
                ? Int32(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
        else { return nil }
        var parts = tm()
        parts.tm_year = year - 1900
        parts.tm_mon = month - 1
        parts.tm_mday = day
        parts.tm_hour = hour
        parts.tm_min = minute
        parts.tm_sec = second
        seconds = Int64(timegm(&parts))
        // timegm(3) normalizes the 31st of February; a date that does not come back the same was none.
        guard description == String(text) else { return nil }
    }

    /// The years that have four digits: others have no place in the form. A commit may claim any.
    static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// The moment in ISO 8601, UTC, to the second; the nearest one that has four digits for its year.
    public var description: String {
        var moment = time_t(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
        var parts = tm()
        guard gmtime_r(&moment, &parts) != nil else { return "1970-01-01T00:00:00Z" }
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return padded(Int(parts.tm_year) + 1900, 4) + "-" + padded(Int(parts.tm_mon) + 1, 2) + "-"
            + padded(Int(parts.tm_mday), 2) + "T" + padded(Int(parts.tm_hour), 2) + ":"
            + padded(Int(parts.tm_min), 2) + ":" + padded(Int(parts.tm_sec), 2) + "Z"
    }

    /// The earlier moment is the smaller one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.seconds < right.seconds
    }
}

extension Timestamp: Codable {
    /// Reads the ISO 8601 string that `encode(to:)` writes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let moment = Timestamp(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not a moment of the form 2025-11-20T22:38:00Z")
        }
        self = moment
    }

    /// Writes `description`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
