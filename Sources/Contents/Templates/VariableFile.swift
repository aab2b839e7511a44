import System
import SystemPackage

/// A file of variables, `.env`, whose values go into a program's environment. Where readers of such files agree, it is read as they
/// read it; where they would make different things of a text, it is an error.
///
/// - A line is `NAME=VALUE`, also with `export` before it, empty, or a comment that begins with a number sign.
/// - A value without quotes ends with its line, or at a number sign behind white space. White space around it does not count.
/// - In single quotes everything is as it is, also line breaks; a backslash before the closing quote is an error.
/// - In double quotes, which may hold line breaks, too, `\n`, `\r`, `\t`, `\\`, `\"` and `\$` mean what they do elsewhere; any other
///   backslash is one.
/// - `${` outside single quotes is an error: other readers put a variable in, and here nothing is put in but references.
public enum VariableFile {
    /// The variables, in the order of the file. References in comments are passed over.
    /// - Throws: `.invalid` for what is none of the above, with its line and no part of a value; `.system` without memory.
    public static func read(_ bytes: UnsafeRawBufferPointer) throws(ContentsError) -> [VariableTemplate] {
        var (reader, variables) = (try VariableReader(bytes), [VariableTemplate]())
        while let variable = try reader.next() { variables.append(variable) }
        return variables
    }
}

/// Reads one variable after the other.
private struct VariableReader {
    private let bytes: UnsafeRawBufferPointer
    private let references: [TemplateReference]
    private var nextReference = 0
    private var (position, line) = (0, 1)

    init(_ bytes: UnsafeRawBufferPointer) throws(ContentsError) {
        self.bytes = bytes
        var (reader, found) = (ReferenceReader(bytes), [TemplateReference]())
        while let reference = try reader.next() { found.append(reference) }
        references = found
    }

    mutating func next() throws(ContentsError) -> VariableTemplate? {
        while let byte = current {
            if byte.isWhiteSpace {
                move()
            } else if byte == UInt8(ascii: "#") {
                passLine()
            } else {
                return try variable()
            }
        }
        return nil
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func move() {
        if bytes[position] == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    private mutating func passLine() {
        while let byte = current, byte != UInt8(ascii: "\n") { move() }
    }

    private mutating func passBlanks() {
        while let byte = current, byte.isWhiteSpace, byte != UInt8(ascii: "\n") { move() }
    }

    private mutating func variable() throws(ContentsError) -> VariableTemplate {
        let start = line
        let end = bytes[position...].firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }
        guard let end, bytes[end] == UInt8(ascii: "=") else { throw wrong("is no NAME=VALUE", start) }
        var range = bytes.trimmed(position..<end)
        if bytes.begins(range, with: "export"), range.count > 6, bytes[range.lowerBound + 6].isWhiteSpace {
            range = bytes.trimmed(range.lowerBound + 6..<range.upperBound)
        }
        guard VariableTemplate.isName(bytes[range]), let name = bytes.name(range) else {
            throw wrong("is no NAME=VALUE", start)
        }
        position = end + 1
        passBlanks()
        var value = VariableValue()
        switch current {
        case UInt8(ascii: "'"): try quoted(by: UInt8(ascii: "'"), &value)
        case UInt8(ascii: "\""): try quoted(by: UInt8(ascii: "\""), &value)
        default: try bare(&value)
        }
        return try value.finish(name: name, line: start)
    }

    private mutating func bare(_ value: inout VariableValue) throws(ContentsError) {
        // White space counts when something follows on it.
        var blanks = position..<position
        while let byte = current, byte != UInt8(ascii: "\n") {
            if byte.isWhiteSpace {
                move()
                blanks = blanks.lowerBound..<position
                continue
            }
            // White space before the value has been passed.
            let isApart = !blanks.isEmpty || position > 0 && bytes[position - 1].isWhiteSpace
            if byte == UInt8(ascii: "#"), isApart { return passLine() }
            try value.append(bytes.part(blanks))
            if try !takeReference(&value) { try take(&value) }
            blanks = position..<position
        }
    }

    private mutating func quoted(by quote: UInt8, _ value: inout VariableValue) throws(ContentsError) {
        let start = line
        let isSingle = quote == UInt8(ascii: "'")
        move()
        while let byte = current {
            if byte == quote {
                if isSingle, bytes[position - 1] == UInt8(ascii: "\\") {
                    throw wrong("has a backslash before a single quote: use double quotes", line)
                }
                move()
                passBlanks()
                guard let rest = current, rest != UInt8(ascii: "\n") else { return }
                guard rest == UInt8(ascii: "#") else { throw wrong("has text behind a closing quote", line) }
                return passLine()
            }
            if try takeReference(&value) { continue }
            if byte == UInt8(ascii: "\\"), !isSingle, let meant = escaped(position + 1) {
                try value.append(meant)
                move()
                move()
            } else {
                try take(&value, isLiteral: isSingle)
            }
        }
        throw wrong("has a quote that is never closed", start)
    }

    /// What a backslash before this byte stands for; nil where it stands for itself.
    private func escaped(_ index: Int) -> UInt8? {
        guard index < bytes.count else { return nil }
        switch bytes[index] {
        case UInt8(ascii: "n"): return UInt8(ascii: "\n")
        case UInt8(ascii: "r"): return UInt8(ascii: "\r")
        case UInt8(ascii: "t"): return UInt8(ascii: "\t")
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"): return bytes[index]
        default: return nil
        }
    }

    private mutating func take(
        _ value: inout VariableValue, isLiteral: Bool = false
    ) throws(ContentsError) {
        if !isLiteral, bytes.begins(position..<bytes.count, with: "${") {
            throw wrong("has ${, and no variable is put in here: write it in single quotes", line)
        }
        if bytes[position] == 0 { throw wrong("has a NUL, which no variable can hold", line) }
        try value.append(bytes.part(position..<position + 1))
        move()
    }

    /// Takes a reference that begins here, and says whether one does.
    private mutating func takeReference(_ value: inout VariableValue) throws(ContentsError) -> Bool {
        // Those that were passed stand in comments.
        while nextReference < references.count, references[nextReference].range.lowerBound < position {
            nextReference += 1
        }
        guard nextReference < references.count else { return false }
        let reference = references[nextReference]
        guard reference.range.lowerBound == position else { return false }
        value.append(reference)
        position = reference.range.upperBound
        return true
    }

    private func wrong(_ what: String, _ line: Int) -> ContentsError {
        ContentsError(.invalid, "line \(line) \(what)")
    }
}

/// A value as it is put together.
private struct VariableValue: ~Copyable {
    private var text = SecretOutput()
    private var pieces: [VariableTemplate.Piece] = []
    private var start = 0

    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(ContentsError) { try text.append(bytes) }

    mutating func append(_ byte: UInt8) throws(ContentsError) { try text.append(byte) }

    mutating func append(_ reference: TemplateReference) {
        endText()
        pieces.append(.reference(reference))
    }

    private mutating func endText() {
        if text.count > start { pieces.append(.text(start..<text.count)) }
        start = text.count
    }

    consuming func finish(name: String, line: Int) throws(ContentsError) -> VariableTemplate {
        endText()
        let pieces = pieces
        return VariableTemplate(name: name, line: line, pieces: pieces, text: text.finish())
    }
}
