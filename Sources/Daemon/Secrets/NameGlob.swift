import Glibc

/// Finds names as `pass find` does: a word fits where a part of the path has it, with `*`, `?` and `[...]` as in a shell; upper
/// and lower case are the same, and one word is enough.
public struct NameGlob: Sendable {
    private let patterns: [String]

    /// A search for any of the words.
    public init(_ words: [String]) {
        patterns = words.filter { !$0.isEmpty }.map { "*\($0)*" }
    }

    /// Whether a path fits, or a folder of it.
    public func matches(_ path: String) -> Bool {
        path.split(separator: "/").contains { part in
            // FNM_CASEFOLD of <fnmatch.h>, which is declared under _GNU_SOURCE only.
            patterns.contains { fnmatch($0, String(part), 1 << 4) == 0 }
        }
    }
}
