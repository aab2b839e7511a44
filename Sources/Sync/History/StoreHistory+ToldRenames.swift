import Git
import Stores
import SystemPackage

extension StoreHistory {
    /// What the messages of commits tell of renames: as ours and those of pass do. It makes more names, so it counts whoever made the
    /// commit.
    ///
    /// That nothing was renamed but what is told is known of a commit that the committer made here of changes which all came through
    /// it: this repository's log says so. What others push may say anything.
    func toldRenames() -> (CommitInfo) -> ToldRenames {
        var made: Set<ObjectID>?
        return { [repository] commit in
            var areAll = false
            if CommitMessage.isOfChanges(commit.message) {
                let here =
                    made
                    ?? Set(
                        repository.reflog(of: "HEAD")
                            .filter { $0.message.hasPrefix(CommitMessage.toldReason) }.map(\.new))
                made = here
                areAll = here.contains(commit.id)
            }
            let renames = CommitMessage.renames(commit.message)
            return ToldRenames(areAll: areAll) { path in renames.compactMap { $0.former(path) } }
        }
    }
}

extension CommitMessage {
    /// A rename as it is told: of a secret or a folder, without suffix.
    struct ToldRename {
        var from: String
        var to: String

        /// What a file was called before; nil where it has nothing to do with it.
        func former(_ path: FilePath) -> FilePath? {
            let name = path.withoutSuffix.string
            if name == to { return FilePath(from + path.string.dropFirst(name.count)) }
            guard path.string.hasPrefix(to + "/") else { return nil }
            return FilePath(from + path.string.dropFirst(to.count))
        }
    }

    /// All that a message may tell of renames: a name may have " to " in it.
    static func renames(_ message: String) -> [ToldRename] {
        message.split(separator: "\n").flatMap { line -> [ToldRename] in
            let line = line.hasPrefix("- ") ? line.dropFirst(2) : line
            guard line.hasPrefix("Rename "), line.hasSuffix(".") else { return [] }
            let words = line.dropFirst(7).dropLast()
            return words.ranges(of: " to ").map {
                ToldRename(from: String(words[..<$0.lowerBound]), to: String(words[$0.upperBound...]))
            }
        }
    }
}
