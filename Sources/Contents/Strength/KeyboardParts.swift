/// Parts of a password that are walks from key to neighbouring key: `qwerty`, `zaq12wsx`.
enum KeyboardParts {
    static func all(of bytes: UnsafeRawBufferPointer) -> [GuessablePart] {
        var parts: [GuessablePart] = []
        var start = 0
        while start + 2 < bytes.count {
            var (end, turns, direction) = (start + 1, 0, Step?.none)
            while end < bytes.count, let step = step(bytes[end - 1], bytes[end]) {
                if step != direction { turns += 1 }
                (direction, end) = (step, end + 1)
            }
            if end - start > 2 {
                let shifted = bytes[start..<end].count { keys[$0]?.isShifted == true }
                let guesses = walks(end - start, turns) * shifts(shifted, end - start)
                parts.append(GuessablePart(start..<end, guesses: guesses))
            }
            start = end
        }
        return parts
    }

    private struct Key {
        let row: Int
        let column: Int
        let isShifted: Bool
    }

    private struct Step: Equatable {
        let rows: Int
        let columns: Int
    }

    /// Each row lies half a key to the right of the one above: a key has two neighbours there, two below, and two beside it.
    private static func step(_ from: UInt8, _ to: UInt8) -> Step? {
        guard let from = keys[from], let to = keys[to] else { return nil }
        let step = Step(rows: to.row - from.row, columns: to.column - from.column)
        let neighbours = [(0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0)]
        return neighbours.contains { $0 == (step.rows, step.columns) } ? step : nil
    }

    private static let keys: [UInt8: Key] = {
        let rows = ["`1234567890-=", "qwertyuiop[]\\", "asdfghjkl;'", "zxcvbnm,./"]
        let shiftedRows = ["~!@#$%^&*()_+", "QWERTYUIOP{}|", "ASDFGHJKL:\"", "ZXCVBNM<>?"]
        var keys: [UInt8: Key] = [:]
        for (lines, isShifted) in [(rows, false), (shiftedRows, true)] {
            for (row, line) in lines.enumerated() {
                for (column, byte) in line.utf8.enumerated() {
                    // The first key of all stands to the left of the others.
                    keys[byte] = Key(row: row, column: row == 0 ? column - 1 : column, isShifted: isShifted)
                }
            }
        }
        return keys
    }()

    /// How many keys the average one has beside it.
    private static let degree = 4.6

    /// All shorter walks, and those of this length, with as many turns or fewer, from every key.
    private static func walks(_ length: Int, _ turns: Int) -> Double {
        var (count, power) = (0.0, 1.0)
        for turn in 1...turns {
            power *= degree
            for steps in max(2, turn + 1)..<length + 1 {
                count += DictionaryParts.binomial(steps - 1, turn - 1) * Double(keys.count) * power
            }
        }
        return count
    }

    /// The ways to hold the shift key.
    private static func shifts(_ shifted: Int, _ length: Int) -> Double {
        guard shifted > 0 else { return 1 }
        guard shifted < length else { return 2 }
        return (1...min(shifted, length - shifted)).reduce(0) { $0 + DictionaryParts.binomial(length, $1) }
    }
}
