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
    /// version are left out, and so is what led to the other side's, as by `git log -- PATH`. A file is followed through renames
    /// that left its content as it was.
    /// - Parameters:
    ///   - everySide: whether also what led to a version that a merge did not take is visited. The whole repository is always
    ///     visited so.
    ///   - moment: those whose author made them before are left out, in seconds since 1970.
    ///   - limit: how many at most, one or more.
    ///   - isOver: asked before each commit; true ends the walk with `.cancelled`.
    ///   - body: is handed each as soon as it is found: a long history takes long.
    public func visitHistory(
        of path: FilePath, from tip: ObjectID, everySide: Bool = false, since moment: Int64? = nil,
        limit: Int = .max, until isOver: () -> Bool = { false }, _ body: (PathChange) throws(GitError) -> Void
    ) throws(GitError) {
        if !path.isEmpty { try checkedPath(path) }
        let everySide = everySide || path.isEmpty
        var path = path
        var count = 0
        var seen: Set<ObjectID> = []
        // The commits that are still to come and lead to what the path holds.
        var followed: Set<ObjectID> = [tip]
        // What commits hold that are still to come: each tree is read once, as parent.
        var known: [ObjectID: ObjectID?] = [:]
        try visitLog(from: tip) { commit throws(GitError) in
            if isOver() { throw GitError(code: .cancelled, message: "the walk was ended") }
            // They come in the order of their times, but for clocks that are wrong by less than a day.
            if let moment, commit.committer.time < moment - 86_400 { return false }
            guard seen.insert(commit.id).inserted else { return true }
            guard followed.remove(commit.id) != nil || everySide else { return !followed.isEmpty }
            let item =
                if let item = known.removeValue(forKey: commit.id) { item } else {
                    try object(at: path, in: commit.id)
                }
            var isChanged = true
            for parent in commit.parents {
                let older = if let older = known[parent] { older } else { try object(at: path, in: parent) }
                known[parent] = .some(older)
                isChanged = isChanged && older != item
                guard isChanged || everySide else {
                    followed.insert(parent)
                    break
                }
            }
            if isChanged { followed.formUnion(commit.parents) }
            guard isChanged, item != nil || !commit.parents.isEmpty else { return true }
            if commit.author.time >= moment ?? .min {
                count += 1
                try body(
                    PathChange(
                        commit: commit, item: path.isEmpty ? nil : try self.item(at: path, in: commit.id),
                        path: path))
            }
            if let item, let parent = commit.parents.first, !path.isEmpty,
                try object(at: path, in: parent) == nil,
                let older = try differences(from: parent, to: commit.id).first(where: {
                    $0.new == nil && $0.old?.id == item
                })
            {
                path = older.path
                known = [:]
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

    /// For every file at or below a folder the commit that changed it last, on the lines of the history that what it holds came
    /// from. A file that was only renamed is followed to what changed it before that, and so is one that was removed and put back
    /// with the same content.
    /// - Parameters:
    ///   - isLeftOut: whether a commit changes nothing that counts in the files that were there before.
    ///   - origin: the name of the commit whose files a commit put back, encrypted anew, so that their contents differ.
    public func lastChanges(
        below folder: FilePath, from tip: ObjectID,
        leavingOut isLeftOut: (CommitInfo) -> Bool = { _ in false },
        restoredFrom origin: (CommitInfo) -> String? = { _ in nil }
    ) throws(GitError) -> [(path: FilePath, commit: CommitInfo)] {
        var followed = try FollowedFiles(below: folder, at: tip, in: self)
        // What only a merge made.
        var made: [FilePath: CommitInfo] = [:]
        // What came, and was not there before as far as was seen.
        var came: [FilePath: CommitInfo] = [:]
        var found: [FilePath: CommitInfo] = [:]
        try visitLog(from: tip) { commit throws(GitError) in
            guard var line = followed.take(commit.id) else { return !followed.isEmpty }
            guard commit.parents.count < 2 else {
                // Two changes that were put together were made before, and so was what was encrypted for others.
                for (now, _) in try followed.part(line, at: commit, in: self) where made[now] == nil {
                    made[now] = commit
                }
                return true
            }
            let differences = try differences(from: commit.parents.first, to: commit.id)
            let isLeftOut = isLeftOut(commit)
            var gone = differences.goneByContent
            for difference in differences {
                // What goes here under a name that is open was renamed in this very commit.
                guard let names = line.open[difference.path], let new = difference.new,
                    difference.old == nil || !isLeftOut
                else { continue }
                line.open[difference.path] = nil
                // One that was on several lines may have been found on another one.
                let left = names.filter { found[$0] == nil }
                guard !left.isEmpty else { continue }
                guard difference.old == nil else {
                    for now in left { found[now] = commit }
                    continue
                }
                if let older = gone.removeValue(forKey: new.id), line.open[older] == nil {
                    line.open[older] = left
                    // What had that name before is this file.
                    if let other = line.added.removeValue(forKey: older), found[other.now] == nil {
                        found[other.now] = other.commit
                    }
                } else {
                    let restored = origin(commit).flatMap { name in
                        try? item(at: difference.path, in: self.commit(named: name))?.id
                    }
                    for now in left {
                        line.added[difference.path] = FollowedFiles.Added(
                            now: now, commit: commit, contents: [new.id, restored].compactMap(\.self))
                        if came[now] == nil { came[now] = commit }
                    }
                }
            }
            for (path, content) in line.added.isEmpty ? [:] : differences.removed {
                guard let file = line.added.removeValue(forKey: path), found[file.now] == nil else {
                    continue
                }
                if file.contents.contains(content) {
                    line.open(path, [file.now])
                    came[file.now] = nil
                } else {
                    found[file.now] = file.commit
                }
            }
            followed.put(line, commit.parents.first)
            return !followed.isEmpty
        }
        found.merge(came) { first, _ in first }
        found.merge(made) { first, _ in first }
        return found.map { ($0.key, $0.value) }.sorted { $0.path.string < $1.path.string }
    }
}
