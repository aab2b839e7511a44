import System
import SystemPackage

/// Compares two trees, folder by folder. Others made at least one of them, so it stops at a number of entries, however
/// few objects those are made of.
struct TreeComparison: ~Copyable {
    /// In the order of paths.
    private(set) var found: [TreeDifference] = []
    private let reader: ObjectReader
    private var entriesLeft = TreeBounds.differences

    init(_ repository: Repository) throws(GitError) {
        reader = try ObjectReader(repository)
    }

    /// What lies under one name on each side.
    private struct Pair {
        var old: RawEntry?
        var new: RawEntry?
    }

    mutating func compare(
        _ old: ObjectID?, _ new: ObjectID?, below folder: FilePath, depth: Int
    ) throws(GitError) {
        guard old != new else { return }
        guard depth <= TreeBounds.differenceDepth else {
            throw GitError(
                code: .invalid, message: "there are folders more than \(TreeBounds.differenceDepth) deep")
        }
        var pairs: [[UInt8]: Pair] = [:]
        for entry in try entries(old) { pairs[entry.name, default: Pair()].old = entry }
        for entry in try entries(new) { pairs[entry.name, default: Pair()].new = entry }
        let changed = pairs.filter { $0.value.old != $0.value.new }
        for (name, pair) in changed.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let path = folder.appending(FilePath(bytes: name).components)
            let (old, new) = (item(pair.old), item(pair.new))
            if old != new {
                found.append(TreeDifference(path: path, old: old, new: new))
            }
            try compare(subtree(pair.old), subtree(pair.new), below: path, depth: depth + 1)
        }
    }

    private mutating func entries(_ tree: ObjectID?) throws(GitError) -> [RawEntry] {
        guard let tree else { return [] }
        let entries = try reader.entries(of: tree, atMost: entriesLeft)
        entriesLeft -= entries.count
        return entries
    }

    private func item(_ entry: RawEntry?) -> TreeItem? {
        entry.flatMap { entry in entry.kind.map { TreeItem(id: entry.id, kind: $0) } }
    }

    private func subtree(_ entry: RawEntry?) -> ObjectID? {
        entry.flatMap { $0.isTree ? $0.id : nil }
    }
}
