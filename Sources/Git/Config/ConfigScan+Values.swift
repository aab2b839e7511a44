extension ConfigScan {
    /// The text with these variables in place of all that the sections of this name and subsection hold.
    func setting(_ values: [ConfigFile.Value], in name: String, _ subsection: String) -> [UInt8] {
        func isMeant(_ index: Int?) -> Bool {
            index.map { sections[$0].name == name && sections[$0].subsection == subsection } ?? false
        }
        let lines = values.flatMap { Array("\t\($0.key) = \(Self.quoted($0.value))\n".utf8) }
        var result: [UInt8] = []
        var copied = 0
        for (variable, owner) in zip(variables, owners) where isMeant(owner) {
            let start = lineStart(variable.whole.lowerBound)
            result += text[copied..<start]
            // What stands in the line of a header leaves that line.
            let isLine = start == 0 || text[start - 1] == UInt8(ascii: "\n")
            copied = isLine ? lineEnd(variable.whole.upperBound) : variable.whole.upperBound
        }
        result += text[copied...]
        // Where the sections are now that they hold nothing any more.
        let emptied = ConfigScan(result)
        guard
            let index = emptied.sections.firstIndex(where: { $0.name == name && $0.subsection == subsection })
        else {
            if let last = result.last, last != UInt8(ascii: "\n") { result.append(UInt8(ascii: "\n")) }
            return result + Array("[\(name) \"\(Self.escaped(subsection))\"]\n".utf8) + lines
        }
        var place = emptied.lineEnd(emptied.headers[index].upperBound)
        if place == result.count, result.last != UInt8(ascii: "\n") {
            result.append(UInt8(ascii: "\n"))
            place += 1
        }
        return Array(result[..<place]) + lines + result[place...]
    }

    /// Where a line begins; of what follows a header in its line, the place itself.
    private func lineStart(_ place: Int) -> Int {
        var start = place
        while start > 0, text[start - 1] == UInt8(ascii: " ") || text[start - 1] == UInt8(ascii: "\t") {
            start -= 1
        }
        return start == 0 || text[start - 1] == UInt8(ascii: "\n") ? start : place
    }

    /// Behind the end of the line.
    private func lineEnd(_ place: Int) -> Int {
        text[place...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? text.count
    }

    /// What stands between quotes. By scalars: to `Character` a quote with a combining mark behind it is another one, and a carriage
    /// return with a line feed is none of both.
    static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\", "\"": escaped += ["\\", scalar]
            case "\n": escaped += ["\\", "n"]
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// A value as it is written: what would be read as something else is quoted.
    private static func quoted(_ value: String) -> String {
        let escaped = escaped(value)
        let isPlain =
            value == escaped && value.utf8.allSatisfy { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: ";") }
            && value.first != " " && value.last != " "
        return isPlain ? value : "\"\(escaped)\""
    }
}
