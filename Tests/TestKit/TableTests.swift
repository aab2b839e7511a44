import Glibc

/// The cases of a test with two tables of arguments: in the suite each row once, with the columns in turn, so that
/// each of them is met; in a soak (`PASSDIR_SOAK`) every row with every column.
public func tableCases<Row, Column>(_ rows: [Row], _ columns: [Column]) -> [(Row, Column)] {
    precondition(!columns.isEmpty, "a table has a column")
    if getenv("PASSDIR_SOAK") != nil { return rows.flatMap { row in columns.map { (row, $0) } } }
    return rows.enumerated().map { ($0.element, columns[$0.offset % columns.count]) }
}
