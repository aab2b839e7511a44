import CGit
import Glibc
import SystemPackage

/// One path at which a tree differs from its parent.
public struct TreeChange: Sendable, Equatable {
    /// What became of the path.
    public enum Kind: Sendable {
        /// It wasn't there.
        case added
        /// Its content or mode is another one.
        case modified
        /// It is gone.
        case removed
    }

    /// The path, relative to the top of the repository.
    public var path: FilePath
    /// What became of it.
    public var kind: Kind
    /// The blob before; nil when added.
    public var old: ObjectID?
    /// The blob now; nil when removed.
    public var new: ObjectID?

    /// A change of these parts.
    public init(path: FilePath, kind: Kind, old: ObjectID?, new: ObjectID?) {
        self.path = path
        self.kind = kind
        self.old = old
        self.new = new
    }
}

extension Repository {
    /// Writes the tree of `parent` with the named paths as they are in the working tree now.
    ///
    /// A file or symbolic link is stored as it is (bytes unfiltered), what is absent is removed, and folders left
    /// empty vanish. A named folder that is gone stands for everything that was in it; a folder that is there
    /// stands for nothing, so name its files. Costs grow with the named paths and their depth, not with the
    /// repository.
    /// - Parameter parent: the commit to build on; nil for the first one.
    /// - Returns: the tree, and what differs from the parent's; nothing differs when `changes` is empty.
    /// - Throws: `.invalid` for a path outside the repository or in `.git`, `.unsupported` without working tree.
    public func preparedTree(
        parent: ObjectID?, paths: [FilePath]
    ) throws(GitError) -> (tree: ObjectID, changes: [TreeChange]) {
        guard let top = workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no working tree")
        }
        var edit = TreeEdit(trustsExecutableBit: configBool("core.fileMode") ?? true)
        let root = try WorkingRoot(top)
        if let parent {
            let base = try tree(of: parent)
            for path in paths { try gather(path, root, base, &edit) }
            return (try write(edit, on: base.pointer), edit.changes)
        }
        for path in paths {
            try checkedPath(path)
            try store(try WorkingFile.read(path, in: root), at: path, replacing: nil, &edit)
        }
        return (try write(edit, on: nil), edit.changes)
    }

    private func gather(
        _ path: FilePath, _ root: borrowing WorkingRoot, _ base: borrowing Owned, _ edit: inout TreeEdit
    ) throws(GitError) {
        try checkedPath(path)
        let old = try entry(path, in: base)
        let file = try WorkingFile.read(path, in: root)
        switch file {
        case .absent:
            if let old { try remove(path, old, &edit) }
        case .directory:
            // A folder where the parent has a file: the file is gone. A submodule's folder is left alone.
            if let old, !old.isTree, old.mode != GIT_FILEMODE_COMMIT { try remove(path, old, &edit) }
        case .file, .link:
            if let old, old.isTree || old.mode == GIT_FILEMODE_COMMIT {
                try remove(path, old, &edit)
                edit.changesKind = true
            }
            if old == nil { try removeFileAbove(path, base, &edit) }
            try store(file, at: path, replacing: old.flatMap { $0.isTree ? nil : $0 }, &edit)
        }
    }

    /// `a/b` is there now, so a file `a` of the parent cannot be there any more.
    private func removeFileAbove(
        _ path: FilePath, _ base: borrowing Owned, _ edit: inout TreeEdit
    ) throws(GitError) {
        var above = path.removingLastComponent()
        while !above.isEmpty {
            if let old = try entry(above, in: base) {
                if !old.isTree {
                    try remove(above, old, &edit)
                    edit.changesKind = true
                }
                return
            }
            above = above.removingLastComponent()
        }
    }

    private func remove(_ path: FilePath, _ old: TreeEntry, _ edit: inout TreeEdit) throws(GitError) {
        if old.isTree {
            for leaf in try leaves(of: path, old.id) { edit.remove(leaf.path, leaf.entry) }
        } else {
            edit.remove(path, old)
        }
    }

    private func store(
        _ file: WorkingFile, at path: FilePath, replacing old: TreeEntry?, _ edit: inout TreeEdit
    ) throws(GitError) {
        let bytes: [UInt8]
        let mode: git_filemode_t
        switch file {
        case .absent, .directory: return
        case .link(let target, _): (bytes, mode) = (target, GIT_FILEMODE_LINK)
        case .file(let content, let executable, _):
            let known = old?.mode == GIT_FILEMODE_BLOB_EXECUTABLE
            let runs = edit.trustsExecutableBit ? executable : known
            (bytes, mode) = (content, runs ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB)
        }
        if let old, old.mode == mode, try Repository.blobID(of: bytes) == old.id { return }
        edit.put(path, TreeEntry(id: try writeBlob(bytes), mode: mode), replacing: old)
    }

    /// One pass, or two where a file takes a folder's name or the other way round: libgit2 replaces a thing by one
    /// of its own kind only.
    private func write(_ edit: TreeEdit, on base: OpaquePointer?) throws(GitError) -> ObjectID {
        guard edit.changesKind else { return try updated(base, edit.removals + edit.puts) }
        let cleared = try updated(base, edit.removals)
        let middle = try tree(of: cleared)
        return try updated(middle.pointer, edit.puts)
    }

    private func updated(_ base: OpaquePointer?, _ edits: [TreeEdit.Step]) throws(GitError) -> ObjectID {
        let updates = edits.map { step in
            git_tree_update(
                action: step.entry == nil ? GIT_TREE_UPDATE_REMOVE : GIT_TREE_UPDATE_UPSERT,
                id: step.entry?.id.oid ?? git_oid(), filemode: step.entry?.mode ?? GIT_FILEMODE_UNREADABLE,
                path: step.path.withPlatformString { UnsafePointer(strdup($0)) })
        }
        defer { for update in updates { free(UnsafeMutablePointer(mutating: update.path)) } }
        var oid = git_oid()
        try check(
            git_tree_create_updated(&oid, pointer, base, updates.count, updates), "cannot write a tree")
        return ObjectID(oid)
    }
}

/// The changes that are gathered for one tree.
private struct TreeEdit {
    /// A path and what it is to hold; nil: nothing.
    struct Step {
        var path: FilePath
        var entry: TreeEntry?
    }

    let trustsExecutableBit: Bool
    var removals: [Step] = []
    var puts: [Step] = []
    var changes: [TreeChange] = []
    /// A file takes a folder's name, or a folder a file's.
    var changesKind = false
    private var seen: Set<FilePath> = []

    init(trustsExecutableBit: Bool) {
        self.trustsExecutableBit = trustsExecutableBit
    }

    mutating func remove(_ path: FilePath, _ old: TreeEntry) {
        guard seen.insert(path).inserted else { return }
        removals.append(Step(path: path, entry: nil))
        changes.append(TreeChange(path: path, kind: .removed, old: old.id, new: nil))
    }

    mutating func put(_ path: FilePath, _ new: TreeEntry, replacing old: TreeEntry?) {
        guard seen.insert(path).inserted else { return }
        puts.append(Step(path: path, entry: new))
        changes.append(
            TreeChange(path: path, kind: old == nil ? .added : .modified, old: old?.id, new: new.id))
    }
}
