/// XML 1.0: in text and in attributes a value is written with references for the characters that mean something there (4.6), and
/// for white space that a parser would change in an attribute (3.3.3); in a tag outside quotes it becomes a whole quoted
/// attribute, behind its `=`. CDATA sections, instructions and declarations hold no references, and none stands behind a `&`. A value has no characters that XML leaves out (2.2).
struct XMLSyntax: EscapingSyntax {
    private enum State: Equatable {
        case text, tag, comment, cdata, instruction
        /// A document type and what is declared in it.
        case declaration(depth: Int, quote: UInt8?)
        case attribute(quote: UInt8)
    }

    private let bytes: UnsafeRawBufferPointer
    private var state = State.text

    var isInComment: Bool { state == .comment }

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func pass(_ range: Range<Int>) {
        var index = range.lowerBound
        while index < range.upperBound {
            let rest = index..<range.upperBound
            switch state {
            case .text:
                if bytes.begins(rest, with: "<!--") {
                    // The dashes do not end it, too.
                    (state, index) = (.comment, index + 3)
                } else if bytes.begins(rest, with: "<![CDATA[") {
                    state = .cdata
                } else if bytes.begins(rest, with: "<?") {
                    state = .instruction
                } else if bytes.begins(rest, with: "<!") {
                    state = .declaration(depth: 1, quote: nil)
                } else if bytes[index] == UInt8(ascii: "<") {
                    state = .tag
                }
            case .tag:
                if bytes[index] == UInt8(ascii: ">") { state = .text }
                if bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") {
                    state = .attribute(quote: bytes[index])
                }
            case .declaration(let depth, let quote): takeDeclaration(bytes[index], depth, quote)
            case .attribute(let quote):
                if bytes[index] == quote { state = .tag }
            case .comment: if bytes.begins(rest, with: "-->") { (state, index) = (.text, index + 2) }
            case .cdata: if bytes.begins(rest, with: "]]>") { (state, index) = (.text, index + 2) }
            case .instruction: if bytes.begins(rest, with: "?>") { (state, index) = (.text, index + 1) }
            }
            index += 1
        }
    }

    private mutating func takeDeclaration(_ byte: UInt8, _ depth: Int, _ quote: UInt8?) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            state = .declaration(depth: depth, quote: quote == nil ? byte : quote == byte ? nil : quote)
        case UInt8(ascii: "<") where quote == nil: state = .declaration(depth: depth + 1, quote: nil)
        case UInt8(ascii: ">") where quote == nil:
            state = depth > 1 ? .declaration(depth: depth - 1, quote: nil) : .text
        default: break
        }
    }

    /// Whether an entity's name or the name of an element or attribute would go on with a value, or begin with it.
    private func isInName(_ reference: Range<Int>) -> Bool {
        let before = bytes[..<reference.lowerBound]
        if state == .tag { return before.last { !$0.isWhiteSpace } != UInt8(ascii: "=") }
        let name = before.reversed().prefix { !$0.isWhiteSpace && !"&;<>\"'".utf8.contains($0) }.count
        return before.dropLast(name).last == UInt8(ascii: "&")
    }

    mutating func put(
        _ value: UnsafeRawBufferPointer, for reference: Range<Int>, to output: inout SecretOutput
    ) throws(ContentsError) {
        switch state {
        case .cdata, .instruction, .declaration:
            throw .cannot("cannot stand in a CDATA section, an instruction or a declaration")
        case .text, .tag, .attribute, .comment: break
        }
        guard !isInName(reference) else { throw .cannot("cannot stand behind an & or in a name") }
        if state == .tag { try output.append("\"") }
        try value.forEachScalar { (scalar) throws(ContentsError) in
            switch scalar {
            case "&": try output.append("&amp;")
            case "<": try output.append("&lt;")
            case ">": try output.append("&gt;")
            case "\"": try output.append("&quot;")
            case "'": try output.append("&#39;")
            case "\t": try output.append("&#9;")
            case "\n": try output.append("&#10;")
            case "\r": try output.append("&#13;")
            case "\0"..."\u{1f}", "\u{fffe}", "\u{ffff}":
                throw .cannot("has a character that XML cannot hold")
            default: try output.append(scalar)
            }
        }
        if state == .tag { try output.append("\"") }
    }
}
