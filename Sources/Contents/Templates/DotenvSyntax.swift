/// Files of variables, which many programs read, each in its own way. What is written here, python-dotenv, node's dotenv,
/// docker compose and a POSIX shell take for the same.
///
/// - A reference that is all of a value becomes a word in single quotes, where the value has no single quote, no two
///   backslashes in a row and none at its end; else in double quotes, where it has no `$`, no backquote, no double quote and no
///   backslash: what a backslash means there, node's dotenv and others see differently. A value with neither way is an error.
/// - Inside quotes of the template the same is allowed as in these. In the middle of unquoted text a reference is an error.
/// - A reference is an error right behind a `$`, which would be one with the value, in double quotes behind `$NAME`, inside of
///   `${…}`, and behind what a shell runs.
/// - `${` is an error anywhere: python-dotenv puts a variable in even in single quotes. So are a NUL, a carriage return
///   and what is no UTF-8. A line feed is allowed, in quotes.
/// - A number sign at the start of a line, or behind a value and white space, begins a comment.
struct DotenvSyntax: EscapingSyntax {
    private enum State { case name, start, bare, single, double, comment }

    private let bytes: UnsafeRawBufferPointer
    private var state = State.name
    private var isEscaped = false
    private var isAtStart = true
    /// Where the value begins.
    private var valueStart = 0

    var isInComment: Bool { state == .comment }

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func pass(_ range: Range<Int>) {
        for index in range { take(bytes[index], at: index) }
    }

    private mutating func take(_ byte: UInt8, at index: Int) {
        switch state {
        case .single, .double:
            let quote = state == .single ? UInt8(ascii: "'") : UInt8(ascii: "\"")
            if isEscaped {
                isEscaped = false
            } else if byte == quote {
                state = .bare
            } else {
                isEscaped = byte == UInt8(ascii: "\\")
            }
        case _ where byte == UInt8(ascii: "\n"): (state, isAtStart) = (.name, true)
        case .comment: break
        case .name:
            if byte == UInt8(ascii: "=") { (state, valueStart) = (.start, index + 1) }
            if byte == UInt8(ascii: "#"), isAtStart { state = .comment }
            if !byte.isWhiteSpace { isAtStart = false }
        case .start:
            if byte == UInt8(ascii: "'") {
                state = .single
            } else if byte == UInt8(ascii: "\"") {
                state = .double
            } else if byte == UInt8(ascii: "#") {
                state = .comment
            } else if !byte.isWhiteSpace {
                state = .bare
            }
        case .bare:
            if byte == UInt8(ascii: "#"), bytes[index - 1].isWhiteSpace { state = .comment }
        }
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        guard !isEscaped else { throw .cannot("cannot stand behind a backslash") }
        guard !isPartOfExpansion(reference) else {
            throw .cannot(
                "stands behind a $ or a backquote, with which readers of such files may replace or run it")
        }
        try value.checkText()
        guard !hasExpansion(value) else { throw .cannot("has ${, which readers of such files replace") }
        switch state {
        case .name, .comment: throw .cannot("does not stand behind the = of a variable")
        case .bare: throw .cannot("stands in unquoted text: put the text in quotes")
        case .single:
            guard fitsSingleQuotes(value) else {
                throw .cannot(
                    "has a single quote, or backslashes side by side or at its end: use double quotes")
            }
            try output.append(value)
        case .double:
            guard fitsDoubleQuotes(value) else {
                throw .cannot(
                    "has quotes, backslashes or $ that readers of such files take for different things: use single quotes"
                )
            }
            try output.append(value)
        case .start:
            guard isAllOfValue(reference) else {
                throw .cannot("stands in unquoted text: put the text in quotes")
            }
            try putWord(value, to: &output)
            state = .bare
        }
    }

    private func putWord(
        _ value: UnsafeRawBufferPointer, to output: inout SecretOutput
    ) throws(ContentsError) {
        if fitsSingleQuotes(value) {
            try output.append("'")
            try output.append(value)
            try output.append("'")
        } else if fitsDoubleQuotes(value) {
            try output.append("\"")
            try output.append(value)
            try output.append("\"")
        } else {
            throw .cannot("has quotes, backslashes or $ that readers of such files take for different things")
        }
    }

    /// A brace of the template may follow on a dollar sign at the end.
    private func hasExpansion(_ value: UnsafeRawBufferPointer) -> Bool {
        value.indices.contains { index in
            value.begins(index..<value.count, with: "${")
                || state != .start && index == value.count - 1 && value[index] == UInt8(ascii: "$")
        }
    }

    private func fitsSingleQuotes(_ value: UnsafeRawBufferPointer) -> Bool {
        !value.has("'") && value.last != UInt8(ascii: "\\")
            && !value.indices.contains { value.begins($0..<value.count, with: "\\\\") }
    }

    private func fitsDoubleQuotes(_ value: UnsafeRawBufferPointer) -> Bool {
        !value.contains { "$`\"\\".utf8.contains($0) }
    }

    /// Whether the text of the value before a reference makes its value a part of an expansion, for some reader.
    private func isPartOfExpansion(_ reference: Range<Int>) -> Bool {
        guard state != .name, state != .comment, valueStart <= reference.lowerBound else { return false }
        let text = bytes[valueStart..<reference.lowerBound]
        let name = text.reversed().prefix { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }.count
        let sign = name > 0 && state == .single ? nil : text.dropLast(name).last
        if sign == UInt8(ascii: "$") { return true }
        var isOpen = false
        for index in text.indices {
            if bytes.begins(index..<text.endIndex, with: "${") { isOpen = true }
            if bytes[index] == UInt8(ascii: "}") { isOpen = false }
            let runs = bytes[index] == UInt8(ascii: "`") || bytes.begins(index..<text.endIndex, with: "$(")
            if runs, state != .single { return true }
        }
        return isOpen
    }

    /// Whether nothing but white space and a comment follows in the line.
    private func isAllOfValue(_ reference: Range<Int>) -> Bool {
        let end = bytes[reference.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        let rest = bytes.trimmed(reference.upperBound..<end)
        return rest.isEmpty
            || rest.lowerBound > reference.upperBound && bytes[rest.lowerBound] == UInt8(ascii: "#")
    }
}
