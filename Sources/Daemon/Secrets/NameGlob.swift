import Glibc

/// Finds names as `pass find` does: a word fits where a part of the path has it, with `*`, `?` and `[...]` as in a shell; upper
/// and lower case are the same, and one word is enough.
public struct NameGlob: Sendable {
    private let patterns: [String]

    /// A search for any of the words.
    public init(_ words: [String]) {
        patterns = words.filter { !$0.isEmpty }.map { "*\(Self.folded($0))*" }
    }

    /// Whether a path fits, or a folder of it.
    public func matches(_ path: String) -> Bool {
        path.split(separator: "/").contains { part in
            let name = Self.folded(part)
            return patterns.contains { fnmatch($0, name, 0) == 0 }
        }
    }

    /// fnmatch(3) itself folds only what the locale knows, which may be ASCII alone.
    private static func folded(_ text: some StringProtocol) -> String { text.lowercased() }
}
