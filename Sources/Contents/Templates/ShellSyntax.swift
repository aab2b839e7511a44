/// Scripts for a POSIX shell. Outside quotes a value becomes a part of its word in single quotes, in which all but the quote is itself;
/// a quote becomes `'\''`. Inside single quotes it is written likewise, and inside double quotes with a backslash before `$`,
/// a backquote, `"` and `\` (POSIX, Shell Command Language, 2.2). A value has no NUL.
///
/// What a template may have that makes the rest hard to read holds no references, and none may follow it: a here-document,
/// backquotes, `$'…'`, `$((`, an expansion in braces of more than a name, and in double quotes `$(` with more than plain words.
struct ShellSyntax: EscapingSyntax {
    private enum State { case bare, single, double, comment }

    private let bytes: UnsafeRawBufferPointer
    private var state = State.bare
    private var isEscaped = false
    /// Whether nothing more is known of the quotes.
    private var isLost = false

    var isInComment: Bool { state == .comment && !isLost }

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func pass(_ range: Range<Int>) {
        for index in range where !isLost { take(bytes[index], at: index) }
    }

    private mutating func take(_ byte: UInt8, at index: Int) {
        if isEscaped {
            isEscaped = false
            return
        }
        switch state {
        case .comment:
            if byte == UInt8(ascii: "\n") { state = .bare }
        case .single:
            if byte == UInt8(ascii: "'") { state = .bare }
        case .double:
            isEscaped = byte == UInt8(ascii: "\\")
            if byte == UInt8(ascii: "\"") { state = .bare }
            isLost =
                byte == UInt8(ascii: "`") || isHardExpansion(index, from: "${", to: "}", holding: "_@*#?!")
            isLost = isLost || isHardExpansion(index, from: "$(", to: ")", holding: " _-+=.,/")
        case .bare:
            takeBare(byte, at: index)
        }
    }

    private mutating func takeBare(_ byte: UInt8, at index: Int) {
        switch byte {
        case UInt8(ascii: "\\"): isEscaped = true
        case UInt8(ascii: "'"): state = .single
        case UInt8(ascii: "\""): state = .double
        case UInt8(ascii: "#"): if isStartOfWord(index) { state = .comment }
        default:
            isLost =
                byte == UInt8(ascii: "`") || isFollowed(index, by: "<<") || isFollowed(index, by: "$'")
                || isFollowed(index, by: "$\"") || isFollowed(index, by: "$((")
                || isHardExpansion(index, from: "${", to: "}", holding: "_@*#?!")
        }
    }

    private func isFollowed(_ index: Int, by text: StaticString) -> Bool {
        bytes.begins(index..<bytes.count, with: text)
    }

    /// Whether an expansion begins that holds more than letters, digits and some signs.
    private func isHardExpansion(
        _ index: Int, from start: StaticString, to end: Unicode.Scalar, holding signs: String
    ) -> Bool {
        guard isFollowed(index, by: start) else { return false }
        let rest = bytes[(index + 2)...].drop { $0.isLetter || $0.isDigit || signs.utf8.contains($0) }
        return rest.first != UInt8(ascii: end)
    }

    private func isStartOfWord(_ index: Int) -> Bool {
        index == 0 || bytes[index - 1].isWhiteSpace || ";&|()".utf8.contains(bytes[index - 1])
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        guard !isLost else {
            throw .cannot(
                "cannot stand in or behind a here-document, backquotes, $'…', or an expansion in braces or quotes"
            )
        }
        guard !isEscaped else { throw .cannot("cannot stand behind a backslash") }
        guard !value.contains(0) else { throw .cannot("has a NUL, which a shell cannot hold") }
        if state == .bare { try output.append("'") }
        for byte in value {
            switch (state, byte) {
            case (.double, UInt8(ascii: "$")), (.double, UInt8(ascii: "`")), (.double, UInt8(ascii: "\"")),
                (.double, UInt8(ascii: "\\")):
                try output.append("\\")
                try output.append(byte)
            case (.bare, UInt8(ascii: "'")), (.single, UInt8(ascii: "'")): try output.append("'\\''")
            default: try output.append(byte)
            }
        }
        if state == .bare { try output.append("'") }
    }
}
