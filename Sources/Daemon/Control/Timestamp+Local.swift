import Glibc

/// A moment as people write it: `2026-11-24 21:09`, by the clock of this machine (`TZ`).
extension Timestamp {
    /// To the minute, in local time.
    public var local: String {
        var moment = time_t(min(max(seconds, Self.range.lowerBound), Self.range.upperBound))
        var parts = tm()
        guard localtime_r(&moment, &parts) != nil else { return description }
        func padded(_ number: CInt, _ width: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return padded(parts.tm_year + 1900, 4) + "-" + padded(parts.tm_mon + 1) + "-" + padded(parts.tm_mday)
            + " " + padded(parts.tm_hour) + ":" + padded(parts.tm_min)
    }

    /// The last second of what was typed: a day, a minute or a second, in local time, or a second of UTC as `description`
    /// writes it. Nil for anything else.
    public init?(typed text: String) {
        if let moment = Timestamp(text) {
            self = moment
            return
        }
        let parts = text.split(separator: text.contains("T") ? "T" : " ", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let day = Self.numbers(parts[0], "-", widths: [4, 2, 2]) else {
            return nil
        }
        var end: [CInt] = [23, 59, 59]
        if parts.count == 2 {
            guard
                let time = Self.numbers(parts[1], ":", widths: [2, 2])
                    ?? Self.numbers(parts[1], ":", widths: [2, 2, 2])
            else { return nil }
            end.replaceSubrange(..<time.count, with: time)
        }
        var moment = tm()
        moment.tm_year = day[0] - 1900
        moment.tm_mon = day[1] - 1
        moment.tm_mday = day[2]
        (moment.tm_hour, moment.tm_min, moment.tm_sec) = (end[0], end[1], end[2])
        moment.tm_isdst = -1
        let typed = moment
        let seconds = mktime(&moment)
        // mktime(3) makes the 3rd of March of the 31st of February.
        guard moment.tm_mday == typed.tm_mday, moment.tm_mon == typed.tm_mon, end[0] < 24, end[1] < 60,
            end[2] < 60
        else { return nil }
        self.init(seconds: Int64(seconds))
    }

    private static func numbers(
        _ text: some StringProtocol, _ separator: Character, widths: [Int]
    ) -> [CInt]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == widths,
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return parts.compactMap { CInt(String($0)) }
    }
}
