/// Parts of a password that are dates or years: `1987`, `24.12.2001`, `240187`.
enum DateParts {
    static func all(of bytes: UnsafeRawBufferPointer) -> [GuessablePart] {
        var parts: [GuessablePart] = []
        for start in bytes.indices where bytes[start].isDigit {
            // A date has 4 to 8 digits, and two signs between them or none.
            for end in start + 4..<max(start + 4, min(bytes.count, start + 10) + 1)
            where bytes[end - 1].isDigit {
                if let distance = distance(bytes, start..<end) {
                    parts.append(GuessablePart(start..<end, guesses: distance))
                }
            }
        }
        return parts
    }

    /// The guesses for a date.
    private static func distance(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Double? {
        if let year = value(bytes, range), range.count == 4, (1900...2050).contains(year) {
            return years(to: year)
        }
        let marks = range.filter { !bytes[$0].isDigit }
        if marks.count == 2, bytes[marks[0]] == bytes[marks[1]], " -/\\_.".utf8.contains(bytes[marks[0]]) {
            let groups = [
                range.lowerBound..<marks[0], marks[0] + 1..<marks[1], marks[1] + 1..<range.upperBound,
            ]
            return days(bytes, groups).map { $0 * 4 }
        }
        guard marks.isEmpty, range.count <= 8 else { return nil }
        var best: Double?
        for first in range.lowerBound + 1..<range.upperBound - 1 {
            for second in first + 1..<range.upperBound {
                let groups = [range.lowerBound..<first, first..<second, second..<range.upperBound]
                if let found = days(bytes, groups) { best = min(best ?? found, found) }
            }
        }
        return best
    }

    /// The guesses for three numbers that are a day, a month and a year, the year first or last.
    private static func days(_ bytes: UnsafeRawBufferPointer, _ groups: [Range<Int>]) -> Double? {
        var best: Double?
        for (year, others) in [(groups[0], [groups[1], groups[2]]), (groups[2], [groups[0], groups[1]])] {
            guard year.count == 2 || year.count == 4, others.allSatisfy({ (1...2).contains($0.count) }),
                let number = value(bytes, year), let one = value(bytes, others[0]),
                let other = value(bytes, others[1])
            else { continue }
            let full = year.count == 4 ? number : number > 50 ? 1900 + number : 2000 + number
            let isDay = (1...31).contains(max(one, other)) && (1...12).contains(min(one, other))
            guard isDay, (1000...2050).contains(full) else { continue }
            let found = years(to: full) * 365
            best = min(best ?? found, found)
        }
        return best
    }

    /// Years are tried from the present on, twenty at least.
    private static func years(to year: Int) -> Double { Double(max(abs(year - present), 20)) }

    /// About when passwords that are in use were chosen.
    private static let present = 2020

    private static func value(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
        bytes.number(range).flatMap(Int.init(exactly:))
    }
}
