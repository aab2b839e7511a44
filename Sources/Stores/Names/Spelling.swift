/// How far two words are apart.
public enum Spelling {
    /// How many letters must be changed, added, left out or exchanged with their neighbour.
    public static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.prefix(64)), Array(other.prefix(64)))
        var older: [Int] = []
        var before = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var now = [row + 1]
            for (column, against) in other.enumerated() {
                var cost = min(
                    before[column + 1] + 1, now[column] + 1, before[column] + (letter == against ? 0 : 1))
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == against {
                    cost = min(cost, older[column - 1] + 1)
                }
                now.append(cost)
            }
            (older, before) = (before, now)
        }
        return before[other.count]
    }

    /// The word of several that was probably meant by one that is none of them; nil where none is near.
    public static func nearest(to word: String, among words: [String]) -> String? {
        let near = words.map { ($0, distance($0, word)) }.min { $0.1 < $1.1 }
        // One letter for another leaves nothing of a name that has no more.
        return near.flatMap { $0.1 <= max(1, word.count / 3) && $0.1 < word.count ? $0.0 : nil }
    }

    /// What follows a sentence that there is nothing of this name: what was probably meant, and what there is.
    public static func suggestion(for word: String, among words: [String]) -> String {
        guard !words.isEmpty else { return "" }
        let meant = nearest(to: word, among: words).map { "; did you mean \($0)?" }
        guard let meant else { return "; there are: \(words.joined(separator: ", "))" }
        return words.count > 1 ? "\(meant) There are: \(words.joined(separator: ", "))" : meant
    }
}
