import Stores
import System

/// Columns for people; `Output.print` prints them.
struct TextTable {
    private var rows: [[String]]

    /// A table with a heading for each column.
    init(_ headings: [String]) {
        rows = [headings]
    }

    mutating func add(_ row: [String]) {
        // Columns are as wide as what is shown.
        rows.append(row.map { VisibleText.line($0) })
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

}
