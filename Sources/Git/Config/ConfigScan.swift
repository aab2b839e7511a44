/// Where things stand in the text of a configuration file, which libgit2 doesn't tell: the lines of headers and
/// variables. libgit2 judges whether the text is valid, so this reads only as much of the syntax as the lines need.
struct ConfigScan {
    private(set) var sections: [ConfigFile.Section] = []
    /// `end` is the place in the text behind the key, `whole` all of it from the key to the end of the last line.
    private(set) var variables: [(key: String, line: Int, end: Int, whole: Range<Int>)] = []
    /// For each variable: in which of `sections` it stands; nil for none.
    private(set) var owners: [Int?] = []

    /// The line of a value whose quote isn't closed; git refuses that, libgit2 1.5 doesn't.
    private(set) var openQuote: Int?

    let text: [UInt8]
    private var position = 0
    private var line = 1
    /// For each section: where its line starts in the text.
    private(set) var starts: [Int] = []
    /// For each section: its header from `[` to `]`.
    private(set) var headers: [Range<Int>] = []
    private var lineStart = 0

    init(_ text: [UInt8]) {
        self.text = text
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "["): header()
            case UInt8(ascii: "#"), UInt8(ascii: ";"): skipLine()
            case UInt8(ascii: "\n"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): advance()
            default: wholeVariable()
            }
        }
    }

    private var peek: UInt8? { position < text.count ? text[position] : nil }

    private mutating func advance() {
        guard position < text.count else { return }
        if text[position] == UInt8(ascii: "\n") {
            line += 1
            lineStart = position + 1
        }
        position += 1
    }

    private mutating func skipLine() {
        while let byte = peek, byte != UInt8(ascii: "\n") { advance() }
    }

    /// `[section]`, `[section "sub \" section"]` or the old `[section.subsection]`; a variable may follow it.
    private mutating func header() {
        let (start, bracket) = (lineStart, position)
        var name: [UInt8] = []
        var quoted: [UInt8]?
        advance()
        while let byte = peek, byte != UInt8(ascii: "]"), byte != UInt8(ascii: "\n") {
            if byte == UInt8(ascii: "\"") {
                quoted = quotedText()
            } else {
                if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") { name.append(byte) }
                advance()
            }
        }
        if peek == UInt8(ascii: "]") { advance() }
        var section = String(decoding: name, as: UTF8.self).lowercased()
        var subsection = quoted.map { String(decoding: $0, as: UTF8.self) }
        if subsection == nil, let dot = section.firstIndex(of: ".") {
            subsection = String(section[section.index(after: dot)...])
            section = String(section[..<dot])
        }
        sections.append(ConfigFile.Section(name: section, subsection: subsection, line: line))
        starts.append(start)
        headers.append(bracket..<position)
    }

    private mutating func quotedText() -> [UInt8] {
        var found: [UInt8] = []
        advance()
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\n") {
            if byte == UInt8(ascii: "\\") { advance() }
            if let byte = peek { found.append(byte) }
            advance()
        }
        if peek == UInt8(ascii: "\"") { advance() }
        return found
    }

    private mutating func wholeVariable() {
        let start = position
        owners.append(sections.indices.last)
        variable()
        variables[variables.count - 1].whole = start..<position
    }

    /// A name and its value, which goes on in the next line after a backslash.
    private mutating func variable() {
        let first = line
        var key: [UInt8] = []
        while let byte = peek, ![UInt8(ascii: "="), UInt8(ascii: "\n"), UInt8(ascii: " ")].contains(byte),
            ![UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "#"), UInt8(ascii: ";")].contains(byte)
        {
            key.append(byte)
            advance()
        }
        variables.append((String(decoding: key, as: UTF8.self), first, position, position..<position))
        var quoted = false
        while let byte = peek, byte != UInt8(ascii: "\n") {
            if !quoted, byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";") { return skipLine() }
            if byte == UInt8(ascii: "\"") { quoted.toggle() }
            if byte == UInt8(ascii: "\\") {
                advance()
                if peek == UInt8(ascii: "\r") { advance() }
            }
            if peek != nil { advance() }
        }
        if quoted, openQuote == nil { openQuote = first }
    }

    /// The text without the sections of this name. Comments right above the next section's header stay: they belong
    /// to it.
    func removing(_ name: String, _ subsection: String?, from text: [UInt8]) -> [UInt8] {
        var result = Array(text[..<(starts.first ?? text.count)])
        for (position, section) in sections.enumerated() {
            let end = position + 1 < starts.count ? starts[position + 1] : text.count
            // Two headers in one line cannot be parted: the text between them is empty, then.
            let start = min(starts[position], end)
            if section.name != name || section.subsection != subsection {
                result += text[start..<end]
            } else if end < text.count {
                result += commentsAbove(end, after: start)
            }
        }
        return result
    }

    /// The comments right above a header, not beyond `start`.
    func commentsAbove(_ end: Int, after start: Int) -> ArraySlice<UInt8> {
        var from = end
        while from > start {
            let lineEnd = from - 1
            let begin = text[start..<lineEnd].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? start
            let content = text[begin..<lineEnd].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard begin > start, content.first == UInt8(ascii: "#") || content.first == UInt8(ascii: ";")
            else {
                break
            }
            from = begin
        }
        return text[from..<end]
    }
}
