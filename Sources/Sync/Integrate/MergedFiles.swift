import Git
import Stores
import SystemPackage

/// What a merge puts into our tree: one item, or its removal, for each path, and no file where a folder is or has to be.
struct MergedFiles {
    private let ours: ObjectID
    private let theirs: ObjectID
    private let repository: Repository
    private let now: Int64

    /// What changes in our tree; nil removes.
    private var items: [FilePath: TreeItem?] = [:]
    /// The names of conflict files that were given.
    private(set) var conflicts: [FilePath] = []

    /// - Parameters:
    ///   - now: the time in the names of conflict files, in seconds since 1970.
    init(ours: ObjectID, theirs: ObjectID, now: Int64, in repository: Repository) {
        self.ours = ours
        self.theirs = theirs
        self.now = now
        self.repository = repository
    }

    /// The changes by their paths.
    var edits: [(path: FilePath, item: TreeItem?)] {
        items.map { (path: $0.key, item: $0.value) }.sorted { $0.path.string < $1.path.string }
    }

    /// Puts an item in a place, or removes what is there. Where another item was put there before, both stay.
    mutating func put(_ item: TreeItem?, at path: FilePath) throws(GitError) {
        guard let known = items[path] else {
            items[path] = .some(item)
            return
        }
        guard let item, item != known else { return }
        if known == nil {
            items[path] = .some(item)
        } else {
            try keep(item, beside: path)
        }
    }

    /// Keeps a version under the name of a conflict.
    mutating func keep(_ item: TreeItem, beside path: FilePath) throws(GitError) {
        let name = try freeName(beside: path)
        items[name] = .some(item)
        conflicts.append(name)
    }

    /// Where one side has a file and the other a folder of the same name, the file gets the name of a conflict.
    mutating func makeRoom() throws(GitError) {
        for (path, item) in edits where item != nil {
            var above = path.removingLastComponent()
            while !above.isEmpty {
                try giveWay(above)
                above.removeLastComponent()
            }
            if try isFolder(path) { try giveWay(path) }
        }
    }

    /// The file at a path, if there is one, makes room for a folder.
    private mutating func giveWay(_ path: FilePath) throws(GitError) {
        let old = try repository.item(at: path, in: ours)
        guard let file = items[path] ?? old else { return }
        // Our tree has a folder there already where it has no file.
        items[path] = old == nil ? nil : .some(nil)
        try keep(file, beside: path)
    }

    /// Whether our tree has a folder there of which something is left.
    private func isFolder(_ path: FilePath) throws(GitError) -> Bool {
        try repository.files(below: path, in: ours).contains { file in
            guard let change = items[file] else { return true }
            return change != nil
        }
    }

    private func freeName(beside path: FilePath) throws(GitError) -> FilePath {
        for attempt in 0..<1000 {
            let name = ConflictName.path(beside: path, at: now, attempt: attempt)
            if items[name] == nil, try isFree(name, in: ours), try isFree(name, in: theirs) { return name }
        }
        throw GitError(code: .other, message: "there are too many conflicts of \(path)")
    }

    private func isFree(_ path: FilePath, in commit: ObjectID) throws(GitError) -> Bool {
        if try repository.item(at: path, in: commit) != nil { return false }
        return try !repository.isFolder(path, in: commit)
    }
}
