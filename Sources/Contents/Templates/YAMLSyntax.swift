/// YAML 1.2. A reference that is all of a value becomes a double-quoted scalar (7.3.1). Inside double quotes a value is escaped for
/// these; inside single quotes it has printable characters and no line break, with its quotes doubled. In a literal block (`|`) its
/// further lines are indented as the one that the reference stands in, and it has printable characters; in a folded one
/// (`>`) it has no line break. In the middle of an unquoted scalar, and in what is not known to be a value, a reference is an error.
///
/// Every value is UTF-8.
struct YAMLSyntax: EscapingSyntax {
    private let bytes: UnsafeRawBufferPointer
    private var scanner: YAMLScanner
    /// Up to where the last line of a block was written that has nothing in it yet.
    private var blankEnd = -1

    var isInComment: Bool { scanner.state == .comment }

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        scanner = YAMLScanner(bytes)
    }

    mutating func pass(_ range: Range<Int>) { scanner.pass(range) }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        switch scanner.state {
        case .comment, .property: throw .cannot("cannot stand in a tag or an anchor")
        case .scalar: throw .cannot("stands in unquoted text: put the text in double quotes")
        case .double(let isEscaped):
            guard !isEscaped, !bytes.hasOpenEscape(before: reference.lowerBound) else {
                throw .cannot("cannot stand behind a backslash")
            }
            try putDoubleQuoted(value, isInText: true, to: &output)
        case .single: try putSingleQuoted(value, reference, to: &output)
        case .block(let isLiteral): try putBlock(value, isLiteral, reference, to: &output)
        case .between:
            guard scanner.isWhole(reference) else {
                throw .cannot("stands in unquoted text: put the text in double quotes")
            }
            try output.append("\"")
            try putDoubleQuoted(value, isInText: false, to: &output)
            try output.append("\"")
            scanner.endValue()
        }
    }

    /// - Parameter isInText: whether the quotes are the template's. They may span lines, and white space is lost where one ends.
    private func putDoubleQuoted(
        _ value: UnsafeRawBufferPointer, isInText: Bool, to output: inout SecretOutput
    ) throws(ContentsError) {
        var place = 0
        try value.forEachScalar { (scalar) throws(ContentsError) in
            let isAtEdge = place == 0 || place == value.count - 1
            place += UTF8.width(scalar)
            switch scalar {
            case " " where isInText && isAtEdge: try output.append("\\x20")
            case "\"": try output.append("\\\"")
            case "\\": try output.append("\\\\")
            case "\n": try output.append("\\n")
            case "\t": try output.append("\\t")
            case _ where Self.isPrintable(scalar): try output.append(scalar)
            case "\0"..."\u{ff}":
                try output.append("\\x")
                try output.append(hexadecimal: scalar.value, digits: 2)
            case "\0"..."\u{ffff}":
                try output.append("\\u")
                try output.append(hexadecimal: scalar.value, digits: 4)
            default:
                try output.append("\\U")
                try output.append(hexadecimal: scalar.value, digits: 8)
            }
        }
    }

    private func putSingleQuoted(
        _ value: UnsafeRawBufferPointer, _ reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        if value.first == UInt8(ascii: " ") || value.last == UInt8(ascii: " ") {
            let end = bytes[reference.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let isQuoted = [scanner.lineStart..<reference.lowerBound, reference.upperBound..<end]
                .allSatisfy { bytes[$0].contains(UInt8(ascii: "'")) }
            guard isQuoted else {
                throw .cannot(
                    "has white space at an end, which quotes over several lines lose: use double quotes")
            }
        }
        try value.forEachScalar { (scalar) throws(ContentsError) in
            guard Self.isPrintable(scalar) else {
                throw .cannot("has a character that single quotes cannot hold: use double quotes")
            }
            if scalar == "'" { try output.append("'") }
            try output.append(scalar)
        }
    }

    private mutating func putBlock(
        _ value: UnsafeRawBufferPointer, _ isLiteral: Bool, _ reference: Range<Int>,
        to output: inout SecretOutput
    ) throws(ContentsError) {
        let line = scanner.lineStart..<reference.lowerBound
        let indentation = line.prefix { bytes[$0] == UInt8(ascii: " ") }
        guard !indentation.isEmpty else { throw .cannot("stands in a block that is not indented: indent it") }
        // The first line of a block says how far it is indented; white space of the value would count as such.
        let blanks = bytes[max(blankEnd, line.lowerBound)..<reference.lowerBound]
        if blanks.allSatisfy({ $0 == UInt8(ascii: " ") }) {
            let first = value.first { $0 != UInt8(ascii: "\n") }
            let next = bytes[reference.upperBound...].first
            guard first.map({ !$0.isWhiteSpace }) ?? (next != UInt8(ascii: " ") && next != UInt8(ascii: "\t"))
            else {
                throw .cannot("begins with white space, which a block cannot hold: use double quotes")
            }
            if first == nil { blankEnd = reference.upperBound }
        }
        var isAtStart = false
        try value.forEachScalar { (scalar) throws(ContentsError) in
            if scalar == "\n" {
                guard isLiteral else { throw .cannot("has a line break, which a folded block cannot hold") }
                isAtStart = true
            } else {
                guard Self.isPrintable(scalar) || scalar == "\t" else {
                    throw .cannot("has a character that a block cannot hold: use double quotes")
                }
                if isAtStart {
                    try output.append(bytes.part(line.lowerBound..<line.lowerBound + indentation.count))
                }
                isAtStart = false
            }
            try output.append(scalar)
        }
        // What follows in the line of the reference stands in the last line of the value.
        if isAtStart, !scanner.isLineEnd(reference.upperBound) {
            try output.append(bytes.part(line.lowerBound..<line.lowerBound + indentation.count))
        }
    }

    /// Whether a character stands for itself in quotes, in every version of YAML (5.1), and breaks no line.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7e, 0xa0...0x2027, 0x202a...0xd7ff, 0xe000...0xfefe, 0xff00...0xfffd,
            0x10000...0x10ffff:
            true
        default: false
        }
    }
}
