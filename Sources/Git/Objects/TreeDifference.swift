import CGit
import Glibc
public import SystemPackage

/// What a tree holds at a path that is no folder.
public struct TreeItem: Sendable, Hashable {
    /// What kind of thing it is.
    public enum Kind: Sendable, Hashable {
        case file, executable, link, submodule

        init?(_ mode: git_filemode_t) {
            switch mode {
            case GIT_FILEMODE_BLOB: self = .file
            case GIT_FILEMODE_BLOB_EXECUTABLE: self = .executable
            case GIT_FILEMODE_LINK: self = .link
            case GIT_FILEMODE_COMMIT: self = .submodule
            default: return nil
            }
        }

        var mode: git_filemode_t {
            switch self {
            case .file: GIT_FILEMODE_BLOB
            case .executable: GIT_FILEMODE_BLOB_EXECUTABLE
            case .link: GIT_FILEMODE_LINK
            case .submodule: GIT_FILEMODE_COMMIT
            }
        }
    }

    /// The blob, or a submodule's commit.
    public var id: ObjectID
    /// What kind of thing it is.
    public var kind: Kind

    /// Whether it is a file, executable or not.
    public var isFile: Bool { kind == .file || kind == .executable }

    /// An item of these parts.
    public init(id: ObjectID, kind: Kind) {
        self.id = id
        self.kind = kind
    }
}

/// A path at which two trees differ.
public struct TreeDifference: Sendable, Hashable {
    /// Relative to the top of the repository.
    public var path: FilePath
    /// What the first tree holds; nil: nothing.
    public var old: TreeItem?
    /// What the second tree holds; nil: nothing.
    public var new: TreeItem?
}

extension Repository {
    /// The paths at which two commits (or trees) differ, sorted. Folders that are the same are not looked into.
    /// - Parameter one: nil is the empty tree.
    /// - Throws: `.invalid` when there are more than `TreeBounds.differences` of them.
    public func differences(from one: ObjectID?, to other: ObjectID) throws(GitError) -> [TreeDifference] {
        let old = try one.map { (id) throws(GitError) in try treeID(of: id) }
        var comparison = try TreeComparison(self)
        try comparison.compare(old, try treeID(of: other), below: FilePath(), depth: 0)
        return comparison.found
    }

    /// What a commit (or tree) holds at a path; nil for nothing and for a folder.
    public func item(at path: FilePath, in commit: ObjectID) throws(GitError) -> TreeItem? {
        try checkedPath(path)
        guard let entry = try entry(path, in: try tree(of: commit)), let kind = TreeItem.Kind(entry.mode)
        else {
            return nil
        }
        return TreeItem(id: entry.id, kind: kind)
    }

    /// Whether a commit (or tree) holds a folder at a path.
    public func isFolder(_ path: FilePath, in commit: ObjectID) throws(GitError) -> Bool {
        try checkedPath(path)
        return try entry(path, in: try tree(of: commit))?.isTree ?? false
    }

    /// Writes the tree of a commit with some paths changed; nil removes one.
    public func tree(
        of commit: ObjectID, edited edits: [(path: FilePath, item: TreeItem?)]
    ) throws(GitError) -> ObjectID {
        for edit in edits { try checkedPath(edit.path) }
        let base = try tree(of: commit)
        var removals: [TreePlan.Step] = []
        var puts: [TreePlan.Step] = []
        for (path, item) in edits {
            // libgit2 puts a submodule into no file's place, nor a file into a submodule's.
            let old = try entry(path, in: base)
            let isOtherKind =
                old.map { !$0.isTree && ($0.mode == GIT_FILEMODE_COMMIT) != (item?.kind == .submodule) }
            if item == nil || isOtherKind == true { removals.append(TreePlan.Step(path: path, entry: nil)) }
            if let item {
                puts.append(
                    TreePlan.Step(path: path, entry: TreeEntry(id: item.id, mode: item.kind.mode)))
            }
        }
        // Removals first: a file may take a folder's name, or the other way round.
        let middle = try tree(of: try updated(base.pointer, removals))
        return try updated(middle.pointer, puts)
    }

    /// What the index holds at some paths; those where it holds nothing are left out.
    public func indexItems(at paths: [FilePath]) throws(GitError) -> [FilePath: TreeItem] {
        let index = try Owned("cannot read the index", free: git_index_free) {
            git_repository_index(&$0, pointer)
        }
        var found: [FilePath: TreeItem] = [:]
        for path in paths {
            let entry = path.withPlatformString { git_index_get_bypath(index.pointer, $0, 0) }
            guard let entry = entry?.pointee,
                let kind = TreeItem.Kind(git_filemode_t(rawValue: entry.mode))
            else { continue }
            found[path] = TreeItem(id: ObjectID(entry.id), kind: kind)
        }
        return found
    }

    /// Sets a reference, whatever it stands at, or makes it.
    public func set(_ ref: String, to id: ObjectID) throws(GitError) {
        var oid = id.oid
        var made: OpaquePointer?
        defer { git_reference_free(made) }
        try check(git_reference_create(&made, pointer, ref, &oid, 1, "passdir"), "cannot set \(ref)")
    }

    /// Removes a reference, wherever it stands.
    public func remove(_ ref: String) throws(GitError) {
        try check(git_reference_remove(pointer, ref), "cannot remove \(ref)")
    }
}
