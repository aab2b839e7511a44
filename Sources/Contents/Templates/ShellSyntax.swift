/// Scripts for a POSIX shell. Outside quotes a value becomes a part of its word in single quotes, in which all but the quote is itself;
/// a quote becomes `'\''`. Inside single quotes it is written likewise, and inside double quotes with a backslash before `$`,
/// a backquote, `"` and `\` (POSIX, Shell Command Language, 2.2). A value has no NUL.
///
/// What a template may have that makes the rest hard to read holds no references, and none may follow it: a here-document,
/// backquotes, `$'…'`, `$((`, `$[`, `((` of more than plain words in its line, likewise a subscript, `declare -i`, an expansion in
/// braces of more than a name, and in double quotes `$(` with more than plain words.
///
/// A reference is an error directly behind a `$`, and in double quotes behind `$NAME`, which would be one with the value; and where
/// the shell runs or calculates what it is given: see `ShellCommand`.
struct ShellSyntax: EscapingSyntax {
    private enum State { case bare, single, double, comment }

    private let bytes: UnsafeRawBufferPointer
    private var state = State.bare
    private var isEscaped = false
    /// Whether nothing more is known of the quotes.
    private var isLost = false
    private var command: ShellCommand
    /// Where the last character stands that a backslash was before, and where the last expansion without braces ends.
    private var (escapedIndex, expansionEnd) = (-1, -1)

    var isInComment: Bool { state == .comment && !isLost }

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        command = ShellCommand(bytes)
    }

    mutating func pass(_ range: Range<Int>) {
        for index in range where !isLost {
            let byte = bytes[index]
            let isOfBreak =
                state == .bare && (isEscaped ? byte == UInt8(ascii: "\n") : isFollowed(index, by: "\\\n"))
            let isQuoted =
                state == .single || state == .double || isEscaped || "\\'\"".utf8.contains(byte)
            take(byte, at: index)
            // A comment is no word, and its end is one of a command; a line break behind a backslash is nothing.
            if state != .comment, !isOfBreak { command.take(byte, at: index, isQuoted: isQuoted) }
            isLost = isLost || command.isLost
        }
    }

    private mutating func take(_ byte: UInt8, at index: Int) {
        if isEscaped {
            (isEscaped, escapedIndex) = (false, index)
            return
        }
        if state == .bare || state == .double { takeExpansion(byte, at: index) }
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
            isLost =
                isLost || isFollowed(index, by: "$[")
                || isHardExpansion(index, from: "$(", to: ")", holding: " _-+=.,/")
        case .bare:
            takeBare(byte, at: index)
        }
    }

    private mutating func takeBare(_ byte: UInt8, at index: Int) {
        switch byte {
        case UInt8(ascii: "\\"): isEscaped = true
        case UInt8(ascii: "'"): state = .single
        case UInt8(ascii: "\""): state = .double
        case UInt8(ascii: "#"):
            // A line that goes on may go on with the word before it, or begin another one.
            isLost =
                escapedIndex == index - 1 && escapedIndex >= 0 && bytes[escapedIndex] == UInt8(ascii: "\n")
            if isStartOfWord(index) { state = .comment }
        case UInt8(ascii: "["):
            isLost = !command.isTest(index) && isHard(from: index + 1, to: "]", holding: "_-+*@!.^$#,:")
        case UInt8(ascii: "(") where isFollowed(index, by: "(("):
            isLost = isHard(from: index + 2, to: ")", holding: "_ $-+*%<>=!,;?:&|")
        default:
            isLost =
                byte == UInt8(ascii: "`") || isFollowed(index, by: "<<") || isFollowed(index, by: "$'")
                || isFollowed(index, by: "$\"") || isFollowed(index, by: "$((")
                || isFollowed(index, by: "$[")
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
        isFollowed(index, by: start) && isHard(from: index + 2, to: end, holding: signs)
    }

    private func isHard(from index: Int, to end: Unicode.Scalar, holding signs: String) -> Bool {
        let rest = bytes[index...].drop { $0.isLetter || $0.isDigit || signs.utf8.contains($0) }
        return rest.first != UInt8(ascii: end) || rest.startIndex == index
    }

    private func isStartOfWord(_ index: Int) -> Bool {
        guard index > 0 else { return true }
        return escapedIndex != index - 1
            && (bytes[index - 1].isWhiteSpace || ";&|()".utf8.contains(bytes[index - 1]))
    }

    /// Follows `$` and the name behind it.
    private mutating func takeExpansion(_ byte: UInt8, at index: Int) {
        let isName = byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_")
        let isFirst = expansionEnd == index && bytes[index - 1] == UInt8(ascii: "$")
        if byte == UInt8(ascii: "$") {
            expansionEnd = index + 1
        } else if expansionEnd == index, isName || isFirst && "@*#?!-".utf8.contains(byte) {
            expansionEnd = index + 1
        }
    }

    /// Whether what stands before a reference takes the value, or the quotes that it is put into, for a part of itself.
    private func isExpansion(before reference: Range<Int>) -> Bool {
        guard expansionEnd == reference.lowerBound else { return false }
        return state == .double || state == .bare && bytes[expansionEnd - 1] == UInt8(ascii: "$")
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        guard !isLost else {
            throw .cannot(
                "cannot stand in or behind a here-document, backquotes, $'…', a calculation, a subscript, or an expansion in braces or quotes"
            )
        }
        guard !isExpansion(before: reference) else {
            throw .cannot(
                "cannot stand right behind a $ or the name of a variable: write that in quotes of its own")
        }
        guard !command.evaluates(reference) else {
            throw .cannot(
                "stands in [[ ]], or in a command such as eval, let, unset or bash -c, which may run parts of it"
            )
        }
        command.passReference(reference)
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
