/// Files of sections and keys. There is no one syntax: configparser of Python is what counts, as read by RawConfigParser, whose values
/// are lines as they are. Inside double quotes a value is written for git-config(1) and systemd.syntax(7), where a
/// backslash stands before a quote and a backslash.
///
/// A value has no line break, and outside quotes no white space at its ends, which readers cut off. A reference stands behind the
/// `=` or `:` of its line, or in a line that is indented and goes on with the one before. Lines that begin with `#` or `;` are
/// comments.
struct INISyntax: EscapingSyntax {
    private let bytes: UnsafeRawBufferPointer
    /// Of the line: whether a value has begun, and whether a double quote is open in it.
    private var (hasValue, isQuoted) = (false, false)
    private var (isEscaped, isAtStart) = (false, true)

    private(set) var isInComment = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func pass(_ range: Range<Int>) {
        for index in range {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\n") {
                (hasValue, isQuoted, isEscaped, isAtStart, isInComment) = (false, false, false, true, false)
            } else if isAtStart {
                take(first: byte, isIndented: index > 0 && bytes[index - 1] != UInt8(ascii: "\n"))
            } else if !hasValue {
                hasValue = byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":")
            } else if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else {
                isEscaped = isQuoted && byte == UInt8(ascii: "\\")
            }
        }
    }

    /// The first byte of a line that is no white space.
    private mutating func take(first byte: UInt8, isIndented: Bool) {
        guard !byte.isWhiteSpace else {
            // A reference right behind it goes on with the value before.
            hasValue = true
            return
        }
        isAtStart = false
        hasValue = isIndented
        isInComment = byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";")
        if isIndented, byte == UInt8(ascii: "\"") { isQuoted = true }
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        guard hasValue else { throw .cannot("does not stand behind the = of a key") }
        guard !isEscaped else { throw .cannot("cannot stand behind a backslash") }
        if isAtStart, value.has("#") || value.has(";") {
            throw .cannot("has a mark of comments, and stands at the start of a line")
        }
        isAtStart = false
        try value.checkText()
        guard !value.has("\n") else {
            throw .cannot("has a line break, which a file of this kind cannot hold")
        }
        guard isQuoted else {
            try checkEnds(value)
            return try output.append(value)
        }
        for byte in value {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { try output.append("\\") }
            try output.append(byte)
        }
    }

    private func checkEnds(_ value: UnsafeRawBufferPointer) throws(ContentsError) {
        var (first, last): (Unicode.Scalar?, Unicode.Scalar?)
        try value.forEachScalar { (scalar) throws(ContentsError) in
            if first == nil { first = scalar }
            last = scalar
        }
        // Python takes the separators of ASCII for white space, too.
        let isCut = [first, last].contains {
            $0.map { $0.properties.isWhitespace || $0.value < 0x20 } ?? false
        }
        guard !isCut else { throw .cannot("has white space at an end, which readers cut off") }
    }
}
