/// Finds names by words: each word must occur, upper and lower case are the same.
public struct NameSearch: Sendable {
    private let words: [[UInt8]]

    /// A search for all of the words.
    public init(_ words: [String]) {
        self.words = words.map { Array($0.lowercased().utf8) }.filter { !$0.isEmpty }
    }

    /// How well a path fits, the smaller the better; nil when a word does not occur.
    ///
    /// Best is a last name that is the word, then one that begins with it, then one where it begins a part of the name,
    /// then the same in the folders; among equals the shorter path.
    public func rank(_ path: String) -> Int? {
        let text = Self.folded(path)
        let lastStart = (text.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
        var sum = 0
        for word in words {
            guard let rank = Self.rank(word, in: text, lastStart: lastStart) else { return nil }
            sum += rank
        }
        return sum << 16 + min(text.count, 0xFFFF)
    }

    private static func rank(_ word: [UInt8], in text: [UInt8], lastStart: Int) -> Int? {
        var best: Int?
        text.withUnsafeBufferPointer { text in
            word.withUnsafeBufferPointer { word in
                var start = 0
                while start + word.count <= text.count {
                    defer { start += 1 }
                    guard text[start] == word[0] else { continue }
                    var length = 1
                    while length < word.count, text[start + length] == word[length] { length += 1 }
                    guard length == word.count else { continue }
                    let end = start + word.count
                    let isInName = start >= lastStart
                    let beginsPart = start == 0 || !isWordByte(text[start - 1])
                    let beginsName = start == 0 || text[start - 1] == UInt8(ascii: "/")
                    let isWhole = beginsName && (end == text.count || text[end] == UInt8(ascii: "/"))
                    let fit = isWhole ? 0 : beginsName ? 1 : beginsPart ? 2 : 3
                    let rank = fit + (isInName ? 0 : 4)
                    if rank < best ?? Int.max { best = rank }
                }
            }
        }
        return best
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte >= 0x80 || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Lower case; ASCII, which most names are, without a detour over Unicode.
    private static func folded(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        var isASCII = true
        for index in bytes.indices {
            let byte = bytes[index]
            if byte >= 0x80 { isASCII = false }
            if byte >= UInt8(ascii: "A"), byte <= UInt8(ascii: "Z") { bytes[index] = byte | 0x20 }
        }
        return isASCII ? bytes : Array(text.lowercased().utf8)
    }
}
