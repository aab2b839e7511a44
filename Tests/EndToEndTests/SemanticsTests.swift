import SystemPackage
import TestKit
import Testing

/// docs/semantics.md and docs/security.md promise nothing that no test holds.
@Suite struct SemanticsTests {
    private static let top = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .removingLastComponent()

    private static let programs = top.pushing("Tests/FileSystemTests/Programs")

    /// A promise is an item of a list in the document; a test quotes it in a comment, after `Holds:`.
    @Test(arguments: ["docs/semantics.md", "docs/security.md"])
    func everySentenceIsQuotedByATest(_ name: String) throws {
        try TestHome.with { home in
            let document = String(
                decoding: try home.bytes(at: Self.top.pushing(FilePath(name))), as: UTF8.self)
            let promises = Self.items(
                document.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
            #expect(promises.count > 20)
            let tests = try home.succeed(
                [
                    "grep", "-rhE", "^ *(///|#) ", "--include=*.swift", "--include=*.txt",
                    Self.top.appending("Tests").string,
                ])
            let comments = String(decoding: tests, as: UTF8.self).split(separator: "\n").map { line in
                String(line.drop { $0 == " " }.drop { $0 == "/" || $0 == "#" }.dropFirst())
            }
            // A check of posix.py has its sentence as its name.
            let checks = try home.succeed(
                ["grep", "-hoP", #"^@(same|own)\("\K[^"]*"#, Self.programs.appending("posix.py").string])
            let quoted = Set(Self.items(comments)).union(
                String(decoding: checks, as: UTF8.self).split(separator: "\n").map(String.init))
            for promise in promises {
                #expect(quoted.contains(promise), "no test quotes: \(promise)")
            }
        }
    }

    /// The items of Markdown lists, each on one line.
    private static func items(_ lines: [String]) -> [String] {
        var items: [String] = []
        var isOpen = false
        for line in lines {
            if line.hasPrefix("- ") {
                items.append(String(line.dropFirst(2)))
                isOpen = true
            } else if isOpen, line.hasPrefix("  ") {
                items[items.count - 1] += " " + line.drop { $0 == " " }
            } else {
                isOpen = false
            }
        }
        return items
    }
}
