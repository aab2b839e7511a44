/// Reads a secret line by line; `SecretText` says by which rules.
struct SecretTextReader {
    private let bytes: UnsafeRawBufferPointer
    private var lines: TextLines
    private(set) var form = SecretText.Form.plain
    private(set) var firstLine = 0..<0
    private(set) var fields: [SecretText.Field] = []
    private(set) var oneTimeURI: Range<Int>?

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        lines = TextLines(bytes)
    }

    mutating func readAll() {
        guard let first = lines.next() else { return }
        if bytes.equals(first, "GOPASS-SECRET-1.0") {
            readHeaders()
        } else {
            firstLine = first
            noteURI(in: first)
            readBody()
        }
    }

    /// What follows the first line: plain fields, and perhaps a YAML document.
    private mutating func readBody() {
        while let line = lines.next() {
            let text = bytes.trimmed(line)
            if bytes.equals(text, "---"), text.lowerBound == line.lowerBound {
                form = .yaml(from: line.lowerBound)
                return readDocument()
            }
            noteURI(in: line)
            if let field = plainField(line) { add(field) }
        }
    }

    private mutating func readDocument() {
        var document = FlatYAML(bytes)
        while let line = lines.next(), !FlatYAML.isEnd(bytes, line) {
            noteURI(in: line)
            if let field = document.take(line) { add(field) }
        }
        if let field = document.finish() { add(field) }
    }

    /// Headers up to an empty line; in the body behind it an otpauth line is all that is looked for.
    private mutating func readHeaders() {
        let start = lines.nextStart
        var hasPassword = false
        while let line = lines.next(), !line.isEmpty {
            noteURI(in: line)
            // A line that begins with white space goes on with the header before it.
            guard !bytes[line.lowerBound].isWhiteSpace, let field = plainField(line) else { continue }
            if !hasPassword, bytes.begins(line, with: "password", ignoringCase: true),
                field.name.utf8.count == 8
            {
                hasPassword = true
                firstLine = field.value
                noteURI(in: field.value)
            } else {
                add(field)
            }
        }
        if !hasPassword { firstLine = start..<start }
        form = .headed(headers: start, hasPassword: hasPassword)
        while let line = lines.next() { noteURI(in: line) }
    }

    /// The field of a line, if it is one.
    private func plainField(_ line: Range<Int>) -> SecretText.Field? {
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = bytes.trimmed(line.lowerBound..<colon)
        guard !name.isEmpty, name.count <= SecretText.nameLimit else { return nil }
        let rest = colon + 1..<line.upperBound
        if bytes.begins(rest, with: "//"), isScheme(name) { return nil }
        guard let text = bytes.name(name) else { return nil }
        return SecretText.Field(name: text, value: bytes.trimmed(rest))
    }

    /// Whether it has the form of a URL's scheme: RFC 3986, 3.1.
    private func isScheme(_ range: Range<Int>) -> Bool {
        bytes[range.lowerBound].isLetter
            && bytes[range].allSatisfy {
                $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
                    || $0 == UInt8(ascii: ".")
            }
    }

    private mutating func add(_ field: SecretText.Field) {
        let holdsURI = ["otpauth", "totp"].contains { field.name.equalsIgnoringCase($0) }
        if holdsURI { noteURI(in: field.value) }
        if fields.count < SecretText.fieldLimit { fields.append(field) }
    }

    private mutating func noteURI(in line: Range<Int>) {
        guard oneTimeURI == nil else { return }
        let text = bytes.trimmed(line)
        if OneTimeURI.begins(bytes, text) { oneTimeURI = text }
    }
}
