import Glibc
import Settings

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

    /// What was typed: a day, a minute or a second, in local time, or a second of UTC as `description` writes it; a time of
    /// day, which is the last one (`10:30`), or that of today or yesterday (`yesterday 10:30`); or how long ago something was
    /// (`2 weeks ago`). Nil for anything else.
    /// - Parameter asBeginning: whether its first second is meant; else its last.
    public init?(typed text: String, asBeginning: Bool = false) {
        if let moment = Timestamp(text) ?? Timestamp(ago: text) {
            self = moment
            return
        }
        let isOfNumbers = text.first.map { ("0"..."9").contains($0) } ?? false
        let parts = text.split(
            separator: isOfNumbers && text.contains("T") ? "T" : " ", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2 else { return nil }
        let now = Timestamp.now()
        var (moment, time) = (now.parts, parts.dropFirst().first)
        var isLastOfThese = false
        switch first.lowercased() {
        case "today": break
        case "yesterday": moment.tm_mday -= 1
        default:
            if let day = Self.numbers(first, "-", widths: [4, 2, 2]) {
                (moment.tm_year, moment.tm_mon, moment.tm_mday) = (day[0] - 1900, day[1] - 1, day[2])
                guard Self.isThere(moment) else { return nil }
            } else {
                guard time == nil else { return nil }
                (time, isLastOfThese) = (first, true)
            }
        }
        var hours: [CInt] = asBeginning ? [0, 0, 0] : [23, 59, 59]
        if let time {
            guard
                let typed = Self.numbers(time, ":", widths: [2, 2])
                    ?? Self.numbers(time, ":", widths: [2, 2, 2])
            else { return nil }
            hours.replaceSubrange(..<typed.count, with: typed)
        }
        guard hours[0] < 24, hours[1] < 60, hours[2] < 60 else { return nil }
        (moment.tm_hour, moment.tm_min, moment.tm_sec) = (hours[0], hours[1], hours[2])
        moment.tm_isdst = -1
        var seconds = Self.seconds(moment)
        if isLastOfThese, seconds - Int64(hours[2]) > now.seconds {
            moment.tm_mday -= 1
            seconds = Self.seconds(moment)
        }
        self.init(seconds: seconds)
    }

    /// The first moment that is meant by `--since`: how long ago it was (`2h`), or as `init(typed:asBeginning:)`.
    public init?(typedSince text: String) {
        if let time = SettingKind<Duration>.duration.parseText(text) {
            self.init(seconds: Timestamp.now().seconds - Int64(time / .seconds(1)))
        } else {
            self.init(typed: text, asBeginning: true)
        }
    }

    /// In local time.
    private var parts: tm {
        var (time, parts) = (time_t(seconds), tm())
        localtime_r(&time, &parts)
        return parts
    }

    private static func seconds(_ parts: tm) -> Int64 {
        var parts = parts
        return Int64(mktime(&parts))
    }

    /// mktime(3) makes the 3rd of March of the 31st of February.
    private static func isThere(_ day: tm) -> Bool {
        var made = day
        (made.tm_hour, made.tm_min, made.tm_sec, made.tm_isdst) = (12, 0, 0, -1)
        mktime(&made)
        return made.tm_mday == day.tm_mday && made.tm_mon == day.tm_mon
    }

    /// As git reads such words.
    private init?(ago text: String) {
        var words = text.lowercased().split { $0 == " " || $0 == "." }.map(String.init)
        switch words {
        case ["now"]: words = ["0", "seconds", "ago"]
        default:
            if words.count == 2, words[0] == "last" { words = ["1", words[1], "ago"] }
        }
        var moment = Timestamp.now().parts
        guard words.count == 3, words[2] == "ago",
            let number = ["a", "an", "one"].contains(words[0]) ? 1 : Int32(words[0]),
            (0...100_000).contains(number)
        else { return nil }
        switch words[1].hasSuffix("s") ? String(words[1].dropLast()) : words[1] {
        case "second", "sec": moment.tm_sec -= number
        case "minute", "min": moment.tm_min -= number
        case "hour", "hr": moment.tm_hour -= number
        case "day": moment.tm_mday -= number
        case "week": moment.tm_mday -= 7 * number
        case "month": moment.tm_mon -= number
        case "year": moment.tm_year -= number
        default: return nil
        }
        // An hour ago is an hour ago, also where clocks were changed since; a day ago is the same time of day.
        if !["sec", "min", "h"].contains(where: words[1].hasPrefix) {
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
