import SystemPackage
import TestKit

/// Builds commits that git itself would refuse to make: any name, any mode, folders that contain themselves by the
/// million. Objects are written with `git hash-object --literally`, so no check of git's looks at them.
struct HostileTree {
    /// The home whose git writes the objects.
    let home: TestHome
    /// The repository that gets them, bare or not.
    let repository: FilePath

    /// One entry of a tree.
    struct Entry {
        /// As git writes it: `100644`, `100755`, `120000`, `160000`, `40000`, or nonsense.
        var mode: String
        /// Any bytes but NUL.
        var name: [UInt8]
        /// The object's id in hexadecimal.
        var object: String

        init(_ mode: String, _ name: String, _ object: String) {
            self.mode = mode
            self.name = Array(name.utf8)
            self.object = object
        }
    }

    /// Writes a blob and returns its id.
    func blob(_ content: [UInt8]) throws -> String {
        try write("blob", content)
    }

    /// Writes a blob and returns its id.
    func blob(_ text: String) throws -> String {
        try blob(Array(text.utf8))
    }

    /// Writes a tree with exactly these entries in exactly this order.
    func tree(_ entries: [Entry]) throws -> String {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes += entry.mode.utf8 + [UInt8(ascii: " ")] + entry.name + [0]
            bytes += try Self.binary(entry.object)
        }
        return try write("tree", bytes)
    }

    /// Writes the tree of nested folders that `files` describes: path to content, each a regular file.
    /// - Parameter executable: which of them have the mode of a program.
    func tree(
        files: [String: [UInt8]], executable: (String) -> Bool = { _ in false }
    ) throws -> String {
        var folders: [String: [String: [UInt8]]] = [:]
        var entries: [Entry] = []
        for (path, content) in files {
            if let slash = path.firstIndex(of: "/") {
                let rest = String(path[path.index(after: slash)...])
                folders[String(path[..<slash]), default: [:]][rest] = content
            } else {
                entries.append(Entry(executable(path) ? "100755" : "100644", path, try blob(content)))
            }
        }
        for (name, below) in folders {
            let tree = try tree(files: below) { executable("\(name)/\($0)") }
            entries.append(Entry("40000", name, tree))
        }
        // Git's order: a folder sorts as if its name ended with a slash.
        func key(_ entry: Entry) -> [UInt8] { entry.name + (entry.mode == "40000" ? [0x2f] : []) }
        return try tree(entries.sorted { key($0).lexicographicallyPrecedes(key($1)) })
    }

    /// Writes a tree with the entries of another and one more, at the end.
    func adding(_ entry: Entry, to tree: String) throws -> String {
        let listed = try home.succeed(["git", "ls-tree", "-z", tree], in: repository)
        let entries = listed.split(separator: 0).map { line in
            let text = String(decoding: line, as: UTF8.self)
            let words = text.prefix { $0 != "\t" }.split(separator: " ")
            return Entry(String(words[0]), String(text.drop { $0 != "\t" }.dropFirst()), String(words[2]))
        }
        return try self.tree(entries + [entry])
    }

    /// Writes a commit of a tree and returns its id.
    func commit(
        _ tree: String, parents: [String] = [], message: String = "Change.\n",
        author: String = "Mallory <mallory@example.org> 1700000000 +0000"
    ) throws -> String {
        var text = "tree \(tree)\n"
        for parent in parents { text += "parent \(parent)\n" }
        text += "author \(author)\ncommitter \(author)\n\n\(message)"
        return try write("commit", Array(text.utf8))
    }

    /// Moves a branch, which need not exist.
    func move(_ branch: String, to commit: String) throws {
        try home.succeed(["git", "update-ref", "refs/heads/\(branch)", commit], in: repository)
    }

    /// The commit that a revision names.
    func resolve(_ revision: String) throws -> String {
        let bytes = try home.succeed(["git", "rev-parse", "--verify", revision], in: repository)
        return String(decoding: bytes.prefix { $0 != 0x0a }, as: UTF8.self)
    }

    private func write(_ kind: String, _ content: [UInt8]) throws -> String {
        let bytes = try home.succeed(
            ["git", "hash-object", "-w", "-t", kind, "--literally", "--stdin"], input: content, in: repository
        )
        return String(decoding: bytes.prefix { $0 != 0x0a }, as: UTF8.self)
    }

    private static func binary(_ id: String) throws -> [UInt8] {
        let digits = Array(id.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
        guard bytes.count == 20 else { throw TestFailure("\(id) is no object id") }
        return bytes
    }
}
