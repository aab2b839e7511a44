import OrderedCollections
import Stores
import SystemPackage

/// What a committer has to do: the paths that were touched since the last commit, and the renames among them.
///
/// It is only knowledge that there is something to do. What is to be committed lies durable in the working tree, and
/// is found again there after a crash.
struct PendingChanges: Sendable {
    /// Paths on disk, relative to the store, in the order in which they were touched first.
    private(set) var paths: OrderedSet<FilePath> = []
    /// Renames in their order; they only make the message better.
    private(set) var renames: [Rename] = []
    /// Those of the paths at which something was taken away, so that nothing is to be there.
    private(set) var removed: Set<FilePath> = []
    /// Those of the paths that only a look at the working tree has told of: git may be what changed them.
    private var found: Set<FilePath> = []
    /// The secrets among them that were saved through the mount, as they were saved.
    private(set) var saved = SavedCiphertexts()
    /// When the newest change came, in seconds since 1970; 0 while there is none.
    private(set) var time: Int64 = 0

    /// What the commit says, where somebody knows better than the changes tell.
    var message: String?

    struct Rename: Sendable, Equatable {
        var from: FilePath
        var to: FilePath
    }

    var isEmpty: Bool { paths.isEmpty }
    var count: Int { paths.count }
    /// Whether a look has found a part of it, which may have been renames.
    var hasFound: Bool { !found.isEmpty }

    /// - Parameters:
    ///   - time: in seconds since 1970; 0 for now.
    ///   - text: what was saved, where that is known.
    ///   - isFound: whether a look at the working tree tells of it, not who made it.
    mutating func add(
        _ change: Change, at time: Int64 = 0, text: SavedCiphertexts.Saved? = nil, isFound: Bool = false
    ) {
        self.time = time
        for path in change.paths {
            if !isFound { found.remove(path) } else if !paths.contains(path) { found.insert(path) }
        }
        switch change {
        case .saved(let path):
            paths.append(path)
            isThere(path)
            if let text { saved.hold(text, at: path) }
            // A folder, exchanged with another one.
            if !path.isSecretName { saved.dropAll(below: path) }
        case .removed(let path):
            paths.append(path)
            removed.insert(path)
            saved.drop(path)
        case .renamed(let from, let to):
            paths.append(from)
            paths.append(to)
            removed.insert(from)
            isThere(to)
            saved.rename(from, to: to)
            // a to b, then b to c: a to c.
            if let index = renames.firstIndex(where: { $0.to == from }) {
                renames[index].to = to
            } else {
                renames.append(Rename(from: from, to: to))
            }
        }
    }

    /// Something has a name again, and so have the folders that it lies in.
    private mutating func isThere(_ path: FilePath) {
        guard !removed.isEmpty else { return }
        removed.subtract(path.andFolders)
    }

    /// Whether something was done through the mount at a path or above it.
    func touches(_ path: FilePath) -> Bool {
        path.andFolders.contains { paths.contains($0) && !found.contains($0) }
    }

    /// Parts it by paths; a rename goes with its ends.
    func split(_ isFirst: (FilePath) -> Bool) -> (PendingChanges, PendingChanges) {
        var (first, second) = (self, self)
        first.paths = paths.filter(isFirst)
        second.paths = paths.filter { !isFirst($0) }
        first.removed = removed.filter(isFirst)
        second.removed = removed.filter { !isFirst($0) }
        first.found = found.filter(isFirst)
        second.found = found.filter { !isFirst($0) }
        first.saved.filter(isFirst)
        second.saved.filter { !isFirst($0) }
        first.renames = renames.filter { isFirst($0.from) }
        second.renames = renames.filter { !isFirst($0.from) }
        return (first, second)
    }

    /// Puts back what could not be committed, before what came since.
    mutating func putBack(_ earlier: PendingChanges) {
        var all = earlier
        all.saved = saved
        all.saved.putBack(earlier.saved) { paths.contains($0) && !found.contains($0) }
        all.found.formUnion(found)
        all.found.subtract(earlier.paths.filter { !earlier.found.contains($0) })
        all.found.subtract(paths.filter { !found.contains($0) })
        all.paths.append(contentsOf: paths)
        all.renames.append(contentsOf: renames)
        all.removed.subtract(paths)
        all.removed.formUnion(removed)
        all.time = max(time, earlier.time)
        self = all
    }
}

extension FilePath {
    /// A relative path and those of the folders that it lies in, the path first.
    var andFolders: some Sequence<FilePath> {
        sequence(first: self) { $0.removingLastComponent() }.prefix { !$0.isEmpty }
    }
}
