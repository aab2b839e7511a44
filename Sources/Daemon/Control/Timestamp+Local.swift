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
    /// writes it; or how long ago something was (`yesterday`, `2 weeks ago`). Nil for anything else.
    public init?(typed text: String) {
        if let moment = Timestamp(text) ?? Timestamp(ago: text) {
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

    /// As git reads such words; `yesterday` is the end of that day, as a day is elsewhere.
    private init?(ago text: String) {
        var words = text.lowercased().split { $0 == " " || $0 == "." }.map(String.init)
        switch words {
        case ["now"]: words = ["0", "seconds", "ago"]
        case ["today"], ["yesterday"]: break
        default:
            if words.count == 2, words[0] == "last" { words = ["1", words[1], "ago"] }
        }
        var now = time_t(Timestamp.now().seconds)
        var moment = tm()
        localtime_r(&now, &moment)
        if words == ["today"] || words == ["yesterday"] {
            if words == ["yesterday"] { moment.tm_mday -= 1 }
            (moment.tm_hour, moment.tm_min, moment.tm_sec, moment.tm_isdst) = (23, 59, 59, -1)
            self.init(seconds: Int64(mktime(&moment)))
            return
        }
        guard words.count == 3, words[2] == "ago",
            let number = ["a", "an", "one"].contains(words[0]) ? 1 : Int32(words[0]),
            (0...100_000).contains(number)
        else { return nil }
        switch words[1].hasSuffix("s") ? String(words[1].dropLast()) : words[1] {
        case "second": moment.tm_sec -= number
        case "minute": moment.tm_min -= number
        case "hour": moment.tm_hour -= number
        case "day": moment.tm_mday -= number
        case "week": moment.tm_mday -= 7 * number
        case "month": moment.tm_mon -= number
        case "year": moment.tm_year -= number
        default: return nil
        }
        // An hour ago is an hour ago, also where clocks were changed since; a day ago is the same time of day.
        if !words[1].hasPrefix("second"), !words[1].hasPrefix("minute"), !words[1].hasPrefix("hour") {
            moment.tm_isdst = -1
        }
        self.init(seconds: Int64(mktime(&moment)))
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
