/// JSON: inside a string a value is escaped (RFC 8259, 7), elsewhere it becomes a whole string. A value is UTF-8.
struct JSONSyntax: EscapingSyntax {
    private let bytes: UnsafeRawBufferPointer
    private var isInString = false
    private var isEscaped = false

    let isInComment = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func pass(_ range: Range<Int>) {
        for byte in bytes[range] {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else {
                isEscaped = isInString && byte == UInt8(ascii: "\\")
            }
        }
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        guard !isEscaped, !isInString || !bytes.hasOpenEscape(before: reference.lowerBound) else {
            throw .cannot("cannot stand behind a backslash")
        }
        if !isInString { try output.append("\"") }
        try value.forEachScalar { (scalar) throws(ContentsError) in
            switch scalar {
            case "\"": try output.append("\\\"")
            case "\\": try output.append("\\\\")
            case "\n": try output.append("\\n")
            case "\r": try output.append("\\r")
            case "\t": try output.append("\\t")
            case "\0"..."\u{1f}", "\u{7f}":
                try output.append("\\u")
                try output.append(hexadecimal: scalar.value, digits: 4)
            default: try output.append(scalar)
            }
        }
        if !isInString { try output.append("\"") }
    }
}
