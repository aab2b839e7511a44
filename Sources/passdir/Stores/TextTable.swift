/// Columns for people.
struct TextTable {
    private var rows: [[String]]

    /// A table with a heading for each column.
    init(_ headings: [String]) {
        rows = [headings]
    }

    mutating func add(_ row: [String]) {
        rows.append(row.map(Self.printable))
    }

    /// The lines, each column as wide as its widest text.
    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                line += text
                if column < row.count - 1 {
                    line += String(repeating: " ", count: widths[column] - text.count + 2)
                }
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }

    /// Names come from others: no control character of theirs reaches the terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
    }
}
