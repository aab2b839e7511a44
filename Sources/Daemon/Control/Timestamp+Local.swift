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
    /// (`2 weeks ago`, `2 h`). Nil for anything else.
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

    /// How long ago something was, as git reads such words, or as settings have a time: `2h` and `0.5 h` are meant as if "ago"
    /// stood behind them.
    private init?(ago text: String) {
        var words = text.lowercased().split { $0 == " " }
        if words.count == 1, text.contains(".ago") { words = words[0].split(separator: ".") }
        if words == ["now"] { words = ["0", "s"] }
        if words.count == 2, words[0] == "last" { words[0] = "1" }
        if words.last == "ago" { words.removeLast() }
        if words.count == 1 {
            // Four digits and more, to which "a" to "f" belong, may begin the id of a commit.
            guard words[0].utf8.count < 4 || !words[0].allSatisfy(\.isHexDigit) else { return nil }
            let number = words[0].prefix { ("0"..."9").contains($0) || $0 == "." }
            words = [number, words[0].dropFirst(number.count)]
        }
        guard words.count == 2,
            let unit = Self.unit(
                words[1].count > 2 && words[1].hasSuffix("s") ? words[1].dropLast() : words[1])
        else { return nil }
        var moment = Timestamp.now()
        switch unit {
        case .seconds(let seconds):
            // An hour ago is an hour ago, also where clocks were changed since; a day ago is the same time of day.
            guard let number = Self.number(words[0]) ?? Self.fraction(words[0]) else { return nil }
            moment = Timestamp(seconds: moment.seconds - Int64(number * seconds))
        case .parts(let part, let count):
            guard let number = Self.number(words[0]).map(Int32.init) else { return nil }
            var parts = moment.parts
            parts[keyPath: part] -= number * count
            parts.tm_isdst = -1
            moment = Timestamp(seconds: Self.seconds(parts))
        }
        self = moment
    }

    private enum Unit {
        case seconds(Double)
        /// A part of a date, and how much of it.
        case parts(WritableKeyPath<tm, CInt>, CInt)
    }

    private static func unit(_ name: Substring) -> Unit? {
        switch name {
        case "ms": .seconds(0.001)
        case "s", "sec", "second": .seconds(1)
        case "m", "min", "minute": .seconds(60)
        case "h", "hr", "hour": .seconds(3600)
        case "d", "day": .parts(\.tm_mday, 1)
        case "w", "week": .parts(\.tm_mday, 7)
        case "month": .parts(\.tm_mon, 1)
        case "y", "year": .parts(\.tm_year, 1)
        default: nil
        }
    }

    private static func number(_ word: Substring) -> Double? {
        if ["a", "an", "one"].contains(word) { return 1 }
        return Int32(word).flatMap { (0...100_000).contains($0) ? Double($0) : nil }
    }

    /// Plain digits only: Double reads "inf", "nan" and "0x1p3" too.
    private static func fraction(_ word: Substring) -> Double? {
        guard word.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }) else { return nil }
        return Double(word).flatMap { $0 <= 100_000 ? $0 : nil }
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
