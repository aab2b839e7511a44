/// What others can make any number of, such as folders with lists and names in them: a person is shown the first few and how many
/// there are, `--json` has all.
enum Flood {
    /// So many are shown one by one.
    static let most = 10

    /// The first of them, and how many more there are.
    static func words(_ all: [String], most: Int = 5) -> String {
        let more = all.count > most ? " and \(all.count - most) more" : ""
        return all.prefix(most).joined(separator: ", ") + more
    }
}
