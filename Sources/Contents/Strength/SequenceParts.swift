/// Parts of a password that go on evenly: `abcd`, `97531`.
enum SequenceParts {
    static func all(of bytes: UnsafeRawBufferPointer) -> [GuessablePart] {
        var parts: [GuessablePart] = []
        var start = 0
        while start + 1 < bytes.count {
            let step = Int(bytes[start + 1]) - Int(bytes[start])
            var end = start + 2
            while end < bytes.count, Int(bytes[end]) - Int(bytes[end - 1]) == step { end += 1 }
            // Repetitions are a part of another kind; two characters are one only where they are neighbours.
            if (1...5).contains(abs(step)), end - start > 2 || abs(step) == 1, isOneKind(bytes[start..<end]) {
                parts.append(GuessablePart(start..<end, guesses: guesses(bytes[start], step, end - start)))
            }
            // The last character of one may be the first of the next.
            start = end - 1
        }
        return parts
    }

    private static func isOneKind(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        bytes.allSatisfy(\.isLowerCase) || bytes.allSatisfy(\.isUpperCase) || bytes.allSatisfy(\.isDigit)
    }

    private static func guesses(_ first: UInt8, _ step: Int, _ length: Int) -> Double {
        let start: Double = "aAzZ019".utf8.contains(first) ? 4 : first.isDigit ? 10 : 26
        return start * (step < 0 ? 2 : 1) * Double(length)
    }
}

/// Parts of a password that repeat something: `aaaa`, `abcabc`.
enum RepeatedParts {
    static func all(of bytes: UnsafeRawBufferPointer) throws(ContentsError) -> [GuessablePart] {
        var parts: [GuessablePart] = []
        var start = 0
        while start + 1 < bytes.count {
            guard let unit = unit(bytes, start) else {
                start += 1
                continue
            }
            let end = end(bytes, start, unit)
            let once = try Strength.magnitude(of: bytes.part(start..<start + unit))
            let times = GuessablePart(start..<end, guesses: Double((end - start) / unit))
            parts.append(GuessablePart(start..<end, magnitude: once + times.magnitude))
            start = end
        }
        return parts
    }

    /// The length of what is repeated from a place on: what covers most, and is shortest.
    private static func unit(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        var (best, length) = (0, 0)
        for unit in 1..<(bytes.count - start) / 2 + 1 {
            let covered = end(bytes, start, unit) - start
            if covered >= 2 * unit, covered > length { (best, length) = (unit, covered) }
        }
        return best > 0 ? best : nil
    }

    /// Where the repetitions of so many bytes end.
    private static func end(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ unit: Int) -> Int {
        var end = start + unit
        while end < bytes.count, bytes[end] == bytes[end - unit] { end += 1 }
        return start + (end - start) / unit * unit
    }
}
