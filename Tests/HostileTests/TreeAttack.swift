import TestKit
import Testing

/// One attack: what is added to the top of the remote's tree, and what the refusal must say.
struct TreeAttack: Sendable, CustomTestStringConvertible {
    var name: String
    var says: String
    var entries: @Sendable (HostileTree) throws -> [HostileTree.Entry]
    var testDescription: String { name }

    /// A file of a name in the top.
    init(file name: String, mode: String = "100644", says: String) {
        self.init("\(mode) \(name.unicodeScalars.map { $0.escaped(asASCII: true) }.joined())", says: says) {
            [.init(mode, name, try $0.blob("x\n"))]
        }
    }

    init(
        _ name: String, says: String,
        entries: @escaping @Sendable (HostileTree) throws -> [HostileTree.Entry]
    ) {
        (self.name, self.says, self.entries) = (name, says, entries)
    }

    /// As many folders in one another, a file in the last.
    static func nested(_ depth: Int, name: String, in tree: HostileTree) throws -> HostileTree.Entry {
        var id = try tree.tree([.init("100644", "x", try tree.blob("x\n"))])
        for _ in 1..<depth { id = try tree.tree([.init("40000", name, id)]) }
        return .init("40000", name, id)
    }

    /// Holds:
    /// - Patterns of git's rule files that would take git for ever are refused before they are used.
    static let all: [TreeAttack] =
        [
            ".git", ".GIT", ".Git", "git~1", "GIT~1", "git~27", ".git.", ".git ", ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it", "\u{feff}.git", ".gi\u{202e}t", "a\\.git\\config", ".git\\hooks",
        ].map { TreeAttack(file: $0, says: "reserved for git") }
        + [".passdir-1-m1.tmp", ".passdir-reencrypt", ".PASSDIR-x", ".passdir-"].map {
            TreeAttack(file: $0, says: "reserved for passdir")
        }
        + ["..", ".", "a/b", "../x", "/etc/x"].map { TreeAttack(file: $0, says: "leads out of its folder") }
        + [
            TreeAttack(file: String(repeating: "n", count: 256), says: "a name of 256 bytes"),
            TreeAttack(
                file: ".gitmodules", mode: "120000", says: "symbolic link where git has a file of its own"),
            TreeAttack(
                file: ".gitignore", mode: "120000", says: "symbolic link where git has a file of its own"),
            TreeAttack(
                file: "gitmod~1", mode: "120000", says: "symbolic link where git has a file of its own"),
            TreeAttack(file: ".gpg-id.sig", mode: "120000", says: "where a recipient list belongs"),
            TreeAttack("a folder .gitattributes", says: "folder where git has a file of its own") {
                [.init("40000", ".gitattributes", try $0.tree(files: ["x": [1]]))]
            },
            TreeAttack(
                "a folder of which the list is a folder", says: "folder where a recipient list belongs"
            ) {
                [.init("40000", "team", try $0.tree(files: [".gpg-id/x": [1]]))]
            },
            TreeAttack("a submodule as a list", says: "folder where a recipient list belongs") {
                let id = try $0.tree(files: ["x": [1]])
                return [.init("40000", "team", try $0.tree([.init("160000", ".gpg-id", id)]))]
            },
            TreeAttack("patterns without end", says: "patterns that git would match forever") {
                let pattern = "/" + String(repeating: "a*", count: 24) + "b\n"
                return [
                    .init("100644", ".gitignore", try $0.blob(pattern)),
                    .init("100644", String(repeating: "a", count: 200), try $0.blob("x\n")),
                ]
            },
            TreeAttack("many patterns of three stars", says: "patterns that git would match forever") {
                [
                    .init(
                        "100644", ".gitattributes",
                        try $0.blob(String(repeating: "a*b*c*d text\n", count: 99)))
                ]
            },
            TreeAttack(file: "x", mode: "100777", says: "the mode 100777"),
            TreeAttack(file: "x", mode: "10644", says: "the mode 10644"),
            TreeAttack(file: "x", mode: "20644", says: "the mode 20644"),
            TreeAttack(file: "x", mode: "0", says: "the mode 0"),
            TreeAttack("no name", says: "has no name") { [.init("100644", "", try $0.blob("x\n"))] },
            TreeAttack("a file twice", says: "in it twice") {
                [.init("100644", "x", try $0.blob("1\n")), .init("100644", "x", try $0.blob("2\n"))]
            },
            TreeAttack("a file and a folder of one name", says: "in it twice") {
                let file = try $0.blob("1\n")
                return [.init("100644", "x", file), .init("40000", "x", try $0.tree(files: ["y": [1]]))]
            },
            TreeAttack("a link and a folder of one name", says: "in it twice") {
                let target = try $0.blob("/tmp")
                return [.init("120000", "x", target), .init("40000", "x", try $0.tree(files: ["y": [1]]))]
            },
            TreeAttack("a folder as a file", says: "is not a file") {
                [.init("100644", "x", try $0.tree(files: ["y": [1]]))]
            },
            TreeAttack("a file as a folder", says: "is not a tree") {
                [.init("40000", "x", try $0.blob("x"))]
            },
            TreeAttack("git's name, deep", says: "a/b/.git has a name") {
                let git = try $0.tree([.init("40000", ".git", try $0.tree(files: ["config": [10]]))])
                return [.init("40000", "a", try $0.tree([.init("40000", "b", git)]))]
            },
            TreeAttack("our name, deep", says: "reserved for passdir") {
                [.init("40000", "a", try $0.tree(files: ["b/.passdir-9-m0.tmp": [1]]))]
            },
            TreeAttack("150 folders deep", says: "folders deep") {
                [try TreeAttack.nested(150, name: "d", in: $0)]
            },
            TreeAttack("a path beyond PATH_MAX", says: "a path of more than 4095 bytes") {
                [try TreeAttack.nested(20, name: String(repeating: "d", count: 250), in: $0)]
            },
            TreeAttack("2^40 files", says: "more than 100000 files and folders") {
                var id = try $0.tree(files: ["x": [1]])
                for _ in 0..<40 { id = try $0.tree([.init("40000", "a", id), .init("40000", "b", id)]) }
                return [.init("40000", "a", id)]
            },
            TreeAttack("2^40 empty folders", says: "more than 100000 files and folders") {
                var id = try $0.tree([])
                for _ in 0..<40 { id = try $0.tree([.init("40000", "a", id), .init("40000", "b", id)]) }
                return [.init("40000", "a", id)]
            },
            TreeAttack("200,000 files in one folder", says: "more than 100000 files and folders") {
                let blob = try $0.blob("x\n")
                return [
                    .init(
                        "40000", "a",
                        try $0.tree((0..<200_000).map { .init("100644", "\(1_000_000 + $0)", blob) }))
                ]
            },
            TreeAttack("a symbolic link of 5000 bytes", says: "5000 bytes in a symbolic link") {
                [.init("120000", "x", try $0.blob([UInt8](repeating: 97, count: 5000)))]
            },
            TreeAttack("a file beyond limits.secret", says: "more than limits.secret allows") {
                [.init("100644", "big.gpg", try $0.blob([UInt8](repeating: 0, count: 5 << 20)))]
            },
            TreeAttack("one megabyte 500 times", says: "limits.transfer") {
                let blob = try $0.blob([UInt8](repeating: 0, count: 1 << 20))
                return try [.init("40000", "a", $0.tree((100..<600).map { .init("100644", "\($0)", blob) }))]
            },
        ]
}
