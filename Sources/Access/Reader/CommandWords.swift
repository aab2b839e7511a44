import System

/// The words of a command, as far as they are looked at.
struct CommandWords {
    /// An argument vector is hardly ever longer, and each process above a reader is looked at.
    private static let limit = 64 << 10
    /// How much of a word is told to people.
    private static let mostShown = 256

    var words: [String]
    /// Whether no word is missing.
    var areAll: Bool

    init(of folder: borrowing ProcessFolder) {
        let bytes = folder.beginning(of: "cmdline", limit: Self.limit) ?? []
        areAll = bytes.count < Self.limit
        words = bytes.split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // A part of a word would be another one.
        if !areAll { words.removeLast() }
    }

    /// The first two, not longer than people can read.
    var shown: [String] {
        words.prefix(2).filter { !$0.isEmpty }
            .map { String(decoding: $0.utf8.prefix(Self.mostShown), as: UTF8.self) }
    }
}
