/// The flat part of a YAML document (YAML 1.2): `key: value` lines that are not indented.
///
/// A value is a plain scalar on one line, without a comment behind it, or what stands inside the quotes of a quoted scalar on one
/// line. Left out, because they are no range of the text: quoted scalars with an escape, scalars of several lines (also `|` and
/// `>`), lists and mappings, and values with a tag, an anchor or an alias. This is no check of YAML: a broken document has the
/// fields that can be made out.
struct FlatYAML {
    private let bytes: UnsafeRawBufferPointer
    /// A field that is one unless what follows is indented, and so belongs to it.
    private var pending: SecretText.Field?

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether a line ends the document.
    static func isEnd(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) -> Bool {
        let text = bytes.trimmed(line)
        guard text.lowerBound == line.lowerBound else { return false }
        return bytes.equals(text, "---") || bytes.equals(text, "...")
    }

    /// Takes the next line.
    /// - Returns: a field before it that is now known to be one.
    mutating func take(_ line: Range<Int>) -> SecretText.Field? {
        let text = bytes.trimmed(line)
        guard !text.isEmpty, bytes[text.lowerBound] != UInt8(ascii: "#") else { return nil }
        if text.lowerBound > line.lowerBound || isListItem(text) {
            pending = nil
            return nil
        }
        defer { pending = field(text) }
        return pending
    }

    /// The last field, at the end of the document.
    mutating func finish() -> SecretText.Field? {
        defer { pending = nil }
        return pending
    }

    private func isListItem(_ text: Range<Int>) -> Bool {
        bytes.equals(text, "-") || bytes.begins(text, with: "- ") || bytes.begins(text, with: "-\t")
    }

    private func field(_ text: Range<Int>) -> SecretText.Field? {
        let name: Range<Int>
        let colon: Int
        if let quoted = quoted(text) {
            guard let inside = quoted.inside else { return nil }
            name = inside
            let rest = bytes.trimmed(quoted.end..<text.upperBound)
            guard bytes.begins(rest, with: ":") else { return nil }
            colon = rest.lowerBound
        } else {
            guard !Self.indicators.contains(bytes[text.lowerBound]), let found = plainColon(text) else {
                return nil
            }
            colon = found
            name = bytes.trimmed(text.lowerBound..<colon)
        }
        guard !name.isEmpty, name.count <= SecretText.nameLimit, isEndOfWord(colon + 1, text),
            let known = bytes.name(name), let value = value(bytes.trimmed(colon + 1..<text.upperBound))
        else { return nil }
        return SecretText.Field(name: known, value: value)
    }

    /// The colon that ends a plain key: one before white space or the end, and before any comment.
    private func plainColon(_ text: Range<Int>) -> Int? {
        let end = beginningOfComment(text)
        return (text.lowerBound..<end).first { bytes[$0] == UInt8(ascii: ":") && isEndOfWord($0 + 1, text) }
    }

    private func isEndOfWord(_ index: Int, _ text: Range<Int>) -> Bool {
        index >= text.upperBound || bytes[index].isWhiteSpace
    }

    /// Where a value is; nil where it is no range of the text.
    private func value(_ text: Range<Int>) -> Range<Int>? {
        guard !text.isEmpty, bytes[text.lowerBound] != UInt8(ascii: "#") else {
            return text.lowerBound..<text.lowerBound
        }
        if let quoted = quoted(text) {
            let rest = bytes.trimmed(quoted.end..<text.upperBound)
            guard rest.isEmpty || bytes[rest.lowerBound] == UInt8(ascii: "#") else { return nil }
            return quoted.inside
        }
        guard !Self.indicators.contains(bytes[text.lowerBound]) else { return nil }
        return bytes.trimmed(text.lowerBound..<beginningOfComment(text))
    }

    /// A comment begins with a number sign behind white space.
    private func beginningOfComment(_ text: Range<Int>) -> Int {
        text.dropFirst().first { bytes[$0] == UInt8(ascii: "#") && bytes[$0 - 1].isWhiteSpace }
            ?? text.upperBound
    }

    /// A quoted scalar at the start of a text: what is inside, nil where that has an escape, and where it ends.
    private func quoted(_ text: Range<Int>) -> (inside: Range<Int>?, end: Int)? {
        guard let quote = bytes[text].first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            return nil
        }
        var (index, hasEscape) = (text.lowerBound + 1, false)
        while index < text.upperBound {
            let isDoubled = index + 1 < text.upperBound && bytes[index + 1] == quote
            if quote == UInt8(ascii: "\""), bytes[index] == UInt8(ascii: "\\") {
                hasEscape = true
                index += 2
            } else if bytes[index] != quote {
                index += 1
            } else if quote == UInt8(ascii: "'"), isDoubled {
                hasEscape = true
                index += 2
            } else {
                return (hasEscape ? nil : text.lowerBound + 1..<index, index + 1)
            }
        }
        return (nil, text.upperBound)
    }

    /// What begins something else than a plain scalar.
    private static let indicators = Set("|>{}[]&*!%@`,".utf8)
}
