/// A file of QSettings in its INI format: groups in brackets, `key=value`, `\` between the parts of a key, `%20` in
/// keys, quotes and `\x` in values.
struct QtSettings {
    private(set) var entries: [(group: String, key: String, value: String)] = []

    init(_ text: String) {
        var group = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let content = line.drop { $0.isWhitespace }
            if content.hasPrefix(";") || content.hasPrefix("#") { continue }
            if content.hasPrefix("[") {
                group = Self.key(content.dropFirst().prefix { $0 != "]" })
                if group == "%General" { group = "General" }
                continue
            }
            guard let equals = content.firstIndex(of: "=") else { continue }
            entries.append(
                (group, Self.key(content[..<equals]), Self.value(content[content.index(after: equals)...])))
        }
    }

    /// `%20` is a space, `%U00E4` and `%E4` are code points.
    private static func key(_ text: Substring) -> String {
        var result = ""
        var rest = text
        while let character = rest.popFirst() {
            if character == "\\" {
                result.append("/")
            } else if character == "%" {
                let isLong = rest.first == "U"
                let digits = isLong ? rest.dropFirst().prefix(4) : rest.prefix(2)
                guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
                    result.append(character)
                    continue
                }
                result.unicodeScalars.append(scalar)
                rest = rest.dropFirst(digits.count + (isLong ? 1 : 0))
            } else {
                result.append(character)
            }
        }
        return result
    }

    private static func value(_ text: Substring) -> String {
        var result = ""
        var rest = text.drop { $0 == " " }
        let isQuoted = rest.first == "\""
        if isQuoted { rest = rest.dropFirst() }
        while let character = rest.popFirst() {
            if isQuoted, character == "\"" { break }
            guard character == "\\", let next = rest.popFirst() else {
                result.append(character)
                continue
            }
            switch next {
            case "n": result.append("\n")
            case "t": result.append("\t")
            case "x":
                let digits = rest.prefix { $0.isHexDigit }
                guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
                    continue
                }
                result.unicodeScalars.append(scalar)
                rest = rest.dropFirst(digits.count)
            default: result.append(next)
            }
        }
        if !isQuoted { while result.last?.isWhitespace == true { result.removeLast() } }
        return result
    }
}
