import CGit
public import SystemPackage

/// A commit that changed a path.
public struct PathChange: Sendable, Equatable {
    /// The commit.
    public var commit: CommitInfo
    /// What the path held after it; nil: nothing.
    public var item: TreeItem?
    /// The path's name at that commit; an older one than asked for where it was renamed since.
    public var path: FilePath
}

extension Repository {
    /// The commits that changed a path, or anything below a folder, newest first; merges that only took one side's
    /// version are left out. A file is followed through renames that left its content as it was.
    /// - Parameters:
    ///   - limit: how many at most, one or more.
    ///   - isOver: asked before each commit; true ends the walk with `.cancelled`.
    ///   - body: is handed each as soon as it is found: a long history takes long.
    public func visitHistory(
        of path: FilePath, from tip: ObjectID, limit: Int = .max, until isOver: () -> Bool = { false },
        _ body: (PathChange) throws(GitError) -> Void
    ) throws(GitError) {
        if !path.isEmpty { try checkedPath(path) }
        var path = path
        var count = 0
        var seen: Set<ObjectID> = []
        try visitLog(from: tip) { commit throws(GitError) in
            if isOver() { throw GitError(code: .cancelled, message: "the walk was ended") }
            guard seen.insert(commit.id).inserted else { return true }
            let item = try object(at: path, in: commit.id)
            var isChanged = true
            for parent in commit.parents where isChanged {
                isChanged = try object(at: path, in: parent) != item
            }
            guard isChanged, item != nil || !commit.parents.isEmpty else { return true }
            count += 1
            try body(
                PathChange(
                    commit: commit, item: path.isEmpty ? nil : try self.item(at: path, in: commit.id),
                    path: path))
            if let item, let parent = commit.parents.first, !path.isEmpty,
                try object(at: path, in: parent) == nil,
                let older = try differences(from: parent, to: commit.id).first(where: {
                    $0.new == nil && $0.old?.id == item
                })
            {
                path = older.path
            }
            return count < limit
        }
    }

    /// As `visitHistory`, all at once.
    public func history(
        of path: FilePath, from tip: ObjectID, limit: Int = .max
    ) throws(GitError) -> [PathChange] {
        var found: [PathChange] = []
        try visitHistory(of: path, from: tip, limit: limit) { found.append($0) }
        return found
    }

    /// The name of the file or folder at a path; the empty path is the top.
    private func object(at path: FilePath, in commit: ObjectID) throws(GitError) -> ObjectID? {
        let tree = try tree(of: commit)
        guard !path.isEmpty else { return ObjectID(git_tree_id(tree.pointer).pointee) }
        return try entry(path, in: tree)?.id
    }

    /// For every file at or below a folder the commit that changed it last. A file that was only renamed is followed to
    /// what changed it before that.
    /// - Parameter isLeftOut: whether a commit changes nothing that counts in the files that were there before.
    public func lastChanges(
        below folder: FilePath, from tip: ObjectID,
        leavingOut isLeftOut: (CommitInfo) -> Bool = { _ in false }
    ) throws(GitError) -> [(path: FilePath, commit: CommitInfo)] {
        // What a file is called at the commit that is looked at, and what it is called now.
        var open: [FilePath: FilePath] = [:]
        for difference in try differences(from: nil, to: tip) where difference.path.starts(with: folder) {
            open[difference.path] = difference.path
        }
        var found: [(path: FilePath, commit: CommitInfo)] = []
        for commit in try log(from: tip) where !open.isEmpty {
            // What a merge took from one side was changed there.
            guard commit.parents.count < 2 else { continue }
            let differences = try differences(from: commit.parents.first, to: commit.id)
            let isLeftOut = isLeftOut(commit)
            var gone = differences.goneByContent
            for difference in differences {
                guard let now = open[difference.path], difference.old == nil || !isLeftOut else { continue }
                open[difference.path] = nil
                if difference.old == nil,
                    let older = difference.new.flatMap({ gone.removeValue(forKey: $0.id) }),
                    open[older] == nil
                {
                    open[older] = now
                } else {
                    found.append((now, commit))
                }
            }
        }
        // What only a merge made.
        if !open.isEmpty {
            let last = try commitInfo(tip)
            for path in open.values { found.append((path, last)) }
        }
        return found.sorted { $0.path.string < $1.path.string }
    }
}
