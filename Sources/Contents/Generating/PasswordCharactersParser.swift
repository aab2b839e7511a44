/// Reads a set in the syntax of tr(1); `PasswordCharacters` says which.
struct PasswordCharactersParser {
    /// A character of the text, after its backslash was read.
    private struct Item {
        var byte: UInt8
        /// With a backslash a character is always itself, no part of `a-z` or `[:x:]`.
        var isEscaped = false

        func isMark(_ mark: Unicode.Scalar) -> Bool { !isEscaped && byte == UInt8(ascii: mark) }
    }

    private let text: String
    private let items: [Item]
    private var index = 0

    init(_ text: String) {
        self.text = text
        items = Self.unescaped(Array(text.utf8))
    }

    mutating func members() throws(ContentsError) -> Set<UInt8> {
        var members: Set<UInt8> = []
        while index < items.count {
            if let bracketed = try bracketed() {
                members.formUnion(bracketed)
                continue
            }
            let first = items[index].byte
            guard index + 2 < items.count, items[index + 1].isMark("-") else {
                members.insert(first)
                index += 1
                continue
            }
            let last = items[index + 2].byte
            guard first <= last else {
                throw ContentsError(.invalid, "the set '\(text)' has a range that ends before it begins")
            }
            members.formUnion(first...last)
            index += 3
        }
        return members
    }

    /// What stands in brackets that mean something; nil where a bracket, or anything else, is itself.
    private mutating func bracketed() throws(ContentsError) -> Set<UInt8>? {
        guard items[index].isMark("["), index + 2 < items.count else { return nil }
        for mark: Unicode.Scalar in [":", "="] where items[index + 1].isMark(mark) {
            let start = index + 2
            guard let end = (start..<items.count - 1).first(where: { isEnd($0, mark, after: start) }) else {
                continue
            }
            let inside = items[start..<end].map(\.byte)
            index = end + 2
            return mark == ":" ? try members(ofClass: inside) : try equivalent(inside)
        }
        return try repeated()
    }

    /// `[x*5]` is the character x, which `tr -d` takes; `[x*]` wants a second set, and so does a count of 0.
    private mutating func repeated() throws(ContentsError) -> Set<UInt8>? {
        guard items[index + 2].isMark("*") else { return nil }
        let rest = items[(index + 3)...].prefix { !$0.isEscaped }
        guard let end = rest.firstIndex(where: { $0.byte == UInt8(ascii: "]") }) else { return nil }
        let digits = rest[..<end].map(\.byte)
        let count = Int(
            String(decoding: digits, as: UTF8.self), radix: digits.first == UInt8(ascii: "0") ? 8 : 10)
        guard let count, count > 0, digits.allSatisfy(\.isDigit) else {
            throw ContentsError(.invalid, "the set '\(text)' repeats a character without a count")
        }
        defer { index = end + 1 }
        return [items[index + 1].byte]
    }

    private func isEnd(_ index: Int, _ mark: Unicode.Scalar, after start: Int) -> Bool {
        // `[===]` is the character `=`.
        items[index].isMark(mark) && items[index + 1].isMark("]") && (mark == ":" || index > start)
    }

    private func equivalent(_ inside: [UInt8]) throws(ContentsError) -> Set<UInt8> {
        guard inside.count == 1 else {
            throw ContentsError(.invalid, "the set '\(text)' has more than one character in [= =]")
        }
        return Set(inside)
    }

    private func members(ofClass name: [UInt8]) throws(ContentsError) -> Set<UInt8> {
        let isMember: (UInt8) -> Bool
        switch String(decoding: name, as: UTF8.self) {
        case "alnum": isMember = { $0.isLetter || $0.isDigit }
        case "alpha": isMember = \.isLetter
        case "blank": isMember = { $0 == 0x20 || $0 == 0x09 }
        case "cntrl": isMember = { $0 < 0x20 || $0 == 0x7f }
        case "digit": isMember = \.isDigit
        case "graph": isMember = { (0x21...0x7e).contains($0) }
        case "lower": isMember = \.isLowerCase
        case "print": isMember = { (0x20...0x7e).contains($0) }
        case "punct": isMember = { (0x21...0x7e).contains($0) && !$0.isLetter && !$0.isDigit }
        case "space": isMember = \.isWhiteSpace
        case "upper": isMember = \.isUpperCase
        case "xdigit": isMember = { $0.hexadecimalValue != nil }
        default: throw ContentsError(.invalid, "the set '\(text)' names a class that there is not")
        }
        return Set((0...UInt8.max).filter(isMember))
    }

    private static func unescaped(_ bytes: [UInt8]) -> [Item] {
        var result: [Item] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                result.append(Item(byte: bytes[index]))
                index += 1
                continue
            }
            index += 1
            if let octal = octal(bytes[index...].prefix(3)) {
                result.append(Item(byte: octal.byte, isEscaped: true))
                index += octal.length
            } else {
                result.append(Item(byte: named[bytes[index]] ?? bytes[index], isEscaped: true))
                index += 1
            }
        }
        return result
    }

    /// Up to three octal digits; where three are more than a byte, two.
    private static func octal(_ digits: ArraySlice<UInt8>) -> (byte: UInt8, length: Int)? {
        let digits = digits.prefix { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
        let values = digits.map { Int($0 - UInt8(ascii: "0")) }
        guard !values.isEmpty else { return nil }
        let value = values.reduce(0) { $0 * 8 + $1 }
        return value > 0xff ? (UInt8(value / 8), 2) : (UInt8(value), values.count)
    }

    private static let named: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08, UInt8(ascii: "t"): 0x09, UInt8(ascii: "n"): 0x0a,
        UInt8(ascii: "v"): 0x0b, UInt8(ascii: "f"): 0x0c, UInt8(ascii: "r"): 0x0d,
    ]
}
