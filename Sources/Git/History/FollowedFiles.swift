import SystemPackage

/// The files that are followed back through a history in one walk, each only on the lines that it came from: where a merge holds
/// of a file what one of its parents holds, the file is followed to that parent, as `git log -- FILE` does.
struct FollowedFiles {
    /// A file that came with a commit, which changes nothing where an older commit removed the same.
    struct Added {
        /// What it is called now.
        var now: FilePath
        /// The commit that it came with.
        var commit: CommitInfo
        /// What it held then, and what it was made from.
        var contents: [ObjectID] = []
    }

    /// The files as far as one commit had them.
    struct Line {
        /// What they are called now, by what they are called at the commit: a name may have passed on to several.
        var open: [FilePath: [FilePath]] = [:]
        /// Those that came since, and may have been removed before, by their names then.
        var added: [FilePath: Added] = [:]

        mutating func open(_ path: FilePath, _ now: [FilePath]) {
            for one in now where open[path]?.contains(one) != true { open[path, default: []].append(one) }
        }

        mutating func unite(_ other: Line) {
            for (path, now) in other.open { open(path, now) }
            added.merge(other.added) { first, _ in first }
        }
    }

    /// For each commit that the walk has not come to yet.
    private var lines: [ObjectID: Line] = [:]

    /// All files at or below a folder.
    init(below folder: FilePath, at tip: ObjectID, in repository: Repository) throws(GitError) {
        var line = Line()
        for file in try repository.differences(from: nil, to: tip) where file.path.starts(with: folder) {
            line.open[file.path] = [file.path]
        }
        put(line, tip)
    }

    /// Whether there is nothing left to follow.
    var isEmpty: Bool { lines.isEmpty }

    /// What is followed to a commit; nil for nothing.
    mutating func take(_ commit: ObjectID) -> Line? { lines.removeValue(forKey: commit) }

    /// Follows files to a commit that is older than those that they were taken from.
    mutating func put(_ line: Line, _ commit: ObjectID?) {
        guard let commit, !line.open.isEmpty || !line.added.isEmpty else { return }
        // The smaller one is put into the larger one.
        guard var known = lines.removeValue(forKey: commit) else { return lines[commit] = line }
        var other = line
        if known.open.count < other.open.count { swap(&known, &other) }
        known.unite(other)
        lines[commit] = known
    }

    /// Follows files from a merge to its parents.
    /// - Returns: what the merge made itself, and no parent has so, by what it is called now. It is followed to all parents.
    mutating func part(
        _ line: Line, at merge: CommitInfo, in repository: Repository
    ) throws(GitError) -> [(now: FilePath, item: TreeItem)] {
        let steps = try merge.parents.map { (parent) throws(GitError) in
            let differences = try repository.differences(from: parent, to: merge.id)
            return Dictionary(differences.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        }
        var line = line
        var parts = Array(repeating: Line(), count: steps.count)
        var made: [(now: FilePath, item: TreeItem)] = []
        for (path, difference) in steps[0] {
            guard let now = line.open.removeValue(forKey: path) else { continue }
            if let same = steps.indices.dropFirst().first(where: { steps[$0][path] == nil }) {
                parts[same].open[path] = now
                continue
            }
            if let item = difference.new { for one in now { made.append((one, item)) } }
            for index in parts.indices where steps[index][path]?.old != nil { parts[index].open[path] = now }
        }
        // What came since may have been removed on any of them.
        for index in parts.indices.dropFirst() { parts[index].added = line.added }
        for (index, parent) in merge.parents.enumerated().dropFirst() { put(parts[index], parent) }
        line.open.merge(parts[0].open) { first, _ in first }
        put(line, merge.parents[0])
        return made
    }
}
