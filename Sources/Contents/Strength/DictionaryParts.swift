import Glibc
import System

/// Parts of a password that are words: forwards and backwards, with capitals, and with digits and signs that look like letters.
enum DictionaryParts {
    static func all(of bytes: UnsafeRawBufferPointer) throws(ContentsError) -> [GuessablePart] {
        var parts: [GuessablePart] = []
        try withCopy(of: bytes.lazy.map(\.lowercased)) { copy in
            words(in: copy) { range, rank in
                parts.append(GuessablePart(range, guesses: rank * capitals(bytes, range)))
            }
        }
        try withCopy(of: bytes.reversed().lazy.map(\.lowercased)) { copy in
            words(in: copy) { range, rank in
                let range = bytes.count - range.upperBound..<bytes.count - range.lowerBound
                parts.append(GuessablePart(range, guesses: rank * capitals(bytes, range) * 2))
            }
        }
        for letters in [lettersOfSigns, otherLettersOfSigns] {
            try withCopy(of: bytes.lazy.map { letters[$0] ?? $0.lowercased }) { copy in
                words(in: copy) { range, rank in
                    guard bytes[range].contains(where: { letters[$0] != nil }) else { return }
                    let signs = substitutions(bytes, range, letters)
                    parts.append(GuessablePart(range, guesses: rank * capitals(bytes, range) * signs))
                }
            }
        }
        return parts
    }

    private static func words(in bytes: UnsafeRawBufferPointer, _ body: (Range<Int>, Double) -> Void) {
        for start in bytes.indices {
            var hash = WordHash()
            for end in start + 1..<min(bytes.count, start + CommonWords.shared.longest) + 1 {
                hash.add(bytes[end - 1])
                if let rank = CommonWords.shared.rank(of: bytes.part(start..<end), hash) {
                    body(start..<end, rank)
                }
            }
        }
    }

    /// A changed copy, in secret memory, for the time of the call.
    private static func withCopy(
        of bytes: some Sequence<UInt8>, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(ContentsError) {
        var output = SecretOutput()
        for byte in bytes { try output.append(byte) }
        output.finish().withUnsafeBytes(body)
    }

    /// How many ways of capitals are tried before this one: few where the first, the last or all letters are capitals.
    private static func capitals(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Double {
        let upper = bytes[range].count(where: \.isUpperCase)
        let lower = bytes[range].count(where: \.isLowerCase)
        guard upper > 0 else { return 1 }
        let isAtEnd = bytes[range.lowerBound].isUpperCase || bytes[range.upperBound - 1].isUpperCase
        if lower == 0 || upper == 1 && isAtEnd { return 2 }
        return choices(upper, lower)
    }

    /// The same for signs: all of a letter at once, or some of them.
    private static func substitutions(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ letters: [UInt8: UInt8]
    ) -> Double {
        letters.reduce(1) { product, pair in
            let signs = bytes[range].count { $0 == pair.key }
            guard signs > 0 else { return product }
            let plain = bytes[range].count { $0.lowercased == pair.value }
            return product * (plain == 0 ? 2 : choices(signs, plain))
        }
    }

    /// The ways to choose up to the smaller number, at least one, of both together.
    private static func choices(_ first: Int, _ second: Int) -> Double {
        let all = first + second
        return (1...max(1, min(first, second))).reduce(0) { $0 + binomial(all, $1) }
    }

    static func binomial(_ count: Int, _ chosen: Int) -> Double {
        guard chosen <= count else { return 0 }
        return (0..<chosen).reduce(1) { $0 * Double(count - $1) / Double($1 + 1) }
    }

    private static let lettersOfSigns = table("4a @a 8b (c {c [c <c 3e 6g 9g 1i !i |i 0o $s 5s +t 7t %x 2z")
    /// Of signs that look like two letters, the other one.
    private static let otherLettersOfSigns = table(
        "4a @a 8b (c {c [c <c 3e 6g 9g 1l !i |l 0o $s 5s +t 7l %x 2z")

    private static func table(_ pairs: String) -> [UInt8: UInt8] {
        let pairs = pairs.split(separator: " ").map { Array($0.utf8) }
        return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0[1]) })
    }
}
