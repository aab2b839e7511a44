import Daemon

/// What others can make any number of, such as folders with lists and names in them: a person is shown the first few and how many
/// there are, `--json` has all.
enum Flood {
    /// So many are shown one by one.
    static let most = 10

    /// Those first that add a reader whom none before them adds: among many that say the same, the one that does not is shown.
    static func newFirst(_ changes: [RecipientChangeReport]) -> [RecipientChangeReport] {
        var seen: Set<String> = []
        var (new, rest): ([RecipientChangeReport], [RecipientChangeReport]) = ([], [])
        for change in changes {
            let added = change.added.filter { seen.insert($0).inserted }
            if added.isEmpty { rest.append(change) } else { new.append(change) }
        }
        return new + rest
    }

    /// The first of them, and how many more there are.
    static func words(_ all: [String], most: Int = 5) -> String {
        let more = all.count > most ? " and \(all.count - most) more" : ""
        return all.prefix(most).joined(separator: ", ") + more
    }
}
