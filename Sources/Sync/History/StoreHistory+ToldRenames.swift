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
            let told = CommitMessage.TellingRenames(commit.message)
            return ToldRenames(areAll: areAll && told.isWhole) { told.former($0) }
        }
    }
}

extension CommitMessage {
    /// The renames that a message tells, of secrets and folders without their suffix. Anybody may have written it: what is looked up
    /// takes as long for many as for one.
    struct TellingRenames {
        /// Longer than two paths, nothing is told by a line.
        private static let longestLine = 2 * 4096
        /// A name may have " to " in it: so many places are tried where one may end.
        private static let mostEnds = 16

        /// The names before, by those behind.
        private var former: [Substring: [Substring]] = [:]
        /// Whether all that is told is known.
        private(set) var isWhole = true

        init(_ message: String) {
            for line in message.split(separator: "\n") {
                let line = line.hasPrefix("- ") ? line.dropFirst(2) : line
                guard line.hasPrefix("Rename "), line.hasSuffix(".") else { continue }
                let words = line.dropFirst(7).dropLast()
                let ends = words.utf8.count <= Self.longestLine ? words.ranges(of: " to ") : []
                guard 1...Self.mostEnds ~= ends.count else {
                    isWhole = false
                    continue
                }
                for end in ends {
                    former[words[end.upperBound...], default: []].append(words[..<end.lowerBound])
                }
            }
        }

        /// What a file may have been called before: by its own name, and by those of the folders that it lies in.
        func former(_ path: FilePath) -> [FilePath] {
            guard !former.isEmpty else { return [] }
            let text = path.string
            var place = path.withoutSuffix
            var found: [FilePath] = []
            while !place.isEmpty {
                let name = place.string
                let rest = String(text.dropFirst(name.count))
                found += (former[name[...]] ?? []).map { FilePath(String($0) + rest) }
                place.removeLastComponent()
            }
            return found
        }
    }
}
