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
}

extension Repository {
    /// Writes the tree of `parent` with the named paths as they are in the working tree now: `plannedTree` and `write`
    /// in one.
    /// - Parameter contents: as of `plannedTree`.
    /// - Returns: the tree, and what differs from the parent's; nothing differs when `changes` is empty.
    /// - Throws: as `plannedTree`.
    public func preparedTree(
        parent: ObjectID?, paths: [FilePath], holding contents: [FilePath: [UInt8]] = [:]
    ) throws(GitError) -> (tree: ObjectID, changes: [TreeChange]) {
        let plan = try plannedTree(parent: parent, paths: paths, holding: contents)
        return (try write(plan), plan.changes)
    }

    /// Reads the named paths as they are in the working tree now, to make of the tree of `parent` one that has them.
    ///
    /// A ciphertext or symbolic link is stored as it is, other files as `git add` does (`converted`); what is absent is removed unless its index entry
    /// excuses that (sparse checkout), and folders left empty vanish. What lies in the folder of a submodule is left out. A named folder means every file that the parent has in it; name the files that are new there.
    /// Costs grow with the named paths, what the parent has below them, and their depth, not with the repository.
    /// - Parameters:
    ///   - parent: the commit to build on; nil for the first one.
    ///   - contents: what counts as the file at some of these paths, whatever lies there.
    /// - Throws: `.invalid` for a path outside the repository or in `.git`, `.unsupported` without working tree.
    public func plannedTree(
        parent: ObjectID?, paths: [FilePath], holding contents: [FilePath: [UInt8]] = [:]
    ) throws(GitError) -> TreePlan {
        guard let top = workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no working tree")
        }
        var plan = TreePlan(
            parent: parent, index: gitDirectory.appending("index"),
            trustsExecutableBit: configBool("core.fileMode") ?? true)
        let root = try WorkingRoot(top)
        if let parent {
            let base = try tree(of: parent)
            var excused = excusedAbsences
            for path in paths { try gather(path, root, base, contents, &excused, &plan) }
        } else {
            for path in paths {
                try checkedPath(path)
                let readAt = IndexTime.clock()
                let file = try read(path, root, contents)
                try store(file, readAt, at: path, replacing: nil, &plan)
            }
        }
        return plan
    }

    /// Writes what a plan holds: its blobs, and the trees above them.
    public func write(_ plan: TreePlan) throws(GitError) -> ObjectID {
        try write(blobs: plan.blobs)
        guard let parent = plan.parent else { return try updated(nil, plan.puts) }
        let base = try tree(of: parent)
        guard plan.changesKind else { return try updated(base.pointer, plan.removals + plan.puts) }
        // libgit2 replaces a thing by one of its own kind only, so a folder goes before a file takes its name.
        let middle = try tree(of: try updated(base.pointer, plan.removals))
        return try updated(middle.pointer, plan.puts)
    }

    private func gather(
        _ path: FilePath, _ root: borrowing WorkingRoot, _ base: borrowing Owned,
        _ contents: [FilePath: [UInt8]], _ excused: inout ExcusedAbsences, _ plan: inout TreePlan
    ) throws(GitError) {
        try checkedPath(path)
        let old = try entry(path, in: base)
        let readAt = IndexTime.clock()
        let file = try read(path, root, contents)
        switch file {
        case .absent:
            guard let old else { return }
            guard old.isTree else {
                if try !excused.contains(path) { try remove(path, old, &plan) }
                return
            }
            for leaf in try leaves(of: path, old.id) where try !excused.contains(leaf.path) {
                plan.remove(leaf.path, leaf.entry)
            }
        case .directory:
            // A submodule's folder is left alone.
            guard let old, old.mode != GIT_FILEMODE_COMMIT else { return }
            guard old.isTree else {
                // A folder where the parent has a file: the file is gone.
                return try remove(path, old, &plan)
            }
            // Another folder may have taken the name of the one that the parent has.
            for leaf in try leaves(of: path, old.id) where leaf.entry.mode != GIT_FILEMODE_COMMIT {
                try gather(leaf.path, root, base, contents, &excused, &plan)
            }
        case .file, .link:
            if let old, old.isTree || old.mode == GIT_FILEMODE_COMMIT {
                try remove(path, old, &plan)
                plan.changesKind = true
            }
            if old == nil, try !removeFileAbove(path, base, &plan) { return }
            try store(file, readAt, at: path, replacing: old.flatMap { $0.isTree ? nil : $0 }, &plan)
        }
    }

    private func read(
        _ path: FilePath, _ root: borrowing WorkingRoot, _ contents: [FilePath: [UInt8]]
    ) throws(GitError) -> WorkingFile {
        if let bytes = contents[path] { return .file(bytes: bytes, executable: false, stat: nil) }
        return try WorkingFile.read(path, in: root)
    }

    /// `a/b` is there now, so a file `a` of the parent cannot be there any more.
    /// - Returns: false where `a` is a submodule, which has a folder there whether it is checked out or not.
    private func removeFileAbove(
        _ path: FilePath, _ base: borrowing Owned, _ plan: inout TreePlan
    ) throws(GitError) -> Bool {
        var above = path.removingLastComponent()
        while !above.isEmpty {
            if let old = try entry(above, in: base) {
                guard old.mode != GIT_FILEMODE_COMMIT else { return false }
                if !old.isTree {
                    try remove(above, old, &plan)
                    plan.changesKind = true
                }
                return true
            }
            above = above.removingLastComponent()
        }
        return true
    }

    private func remove(_ path: FilePath, _ old: TreeEntry, _ plan: inout TreePlan) throws(GitError) {
        if old.isTree {
            for leaf in try leaves(of: path, old.id) { plan.remove(leaf.path, leaf.entry) }
        } else {
            plan.remove(path, old)
        }
    }

    private func store(
        _ file: WorkingFile, _ readAt: timespec, at path: FilePath, replacing old: TreeEntry?,
        _ plan: inout TreePlan
    ) throws(GitError) {
        let bytes: [UInt8]
        let mode: git_filemode_t
        let facts: stat?
        switch file {
        case .absent, .directory: return
        case .link(let target, let stat): (bytes, mode, facts) = (target, GIT_FILEMODE_LINK, stat)
        case .file(let content, let executable, let stat):
            let known = old?.mode == GIT_FILEMODE_BLOB_EXECUTABLE
            let runs = plan.trustsExecutableBit ? executable : known
            do throws(GitError) {
                bytes = try converted(content, .toGit, at: path)
            } catch {
                // What cannot be converted and is what the branch has was not edited.
                guard let old, try Repository.blobID(of: content) == old.id else { throw error }
                bytes = content
            }
            (mode, facts) = (runs ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB, stat)
        }
        let blob = TreeEntry(id: try Repository.blobID(of: bytes), mode: mode)
        if let old, old.mode == mode, blob.id == old.id { return }
        plan.hold(bytes)
        if plan.isFull { try write(blobs: plan.takeBlobs()) }
        plan.put(path, IndexEntry(blob, stat: facts, readAt: readAt), replacing: old)
    }

    /// Writes a tree with some paths of another one changed.
    func updated(_ base: OpaquePointer?, _ edits: [TreePlan.Step]) throws(GitError) -> ObjectID {
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
