public import SystemPackage

/// What a file held from a commit on.
public struct FileVersion: Sendable, Equatable {
    /// The content.
    public var id: ObjectID
    /// When the change was made, by its author's clock, in seconds since 1970.
    public var time: Int64
    /// Whether the commit changes nothing that counts.
    public var isLeftOut: Bool
}

extension Repository {
    /// For every file at or below a folder its versions, newest first, in one walk through the history. As `lastChanges`, it
    /// follows files that were only renamed, and passes over merges. What a file held before it was removed is a version of the
    /// one that has its name now.
    /// - Parameter isLeftOut: whether a commit changes nothing that counts in the files that were there before.
    public func versions(
        below folder: FilePath, from tip: ObjectID, leavingOut isLeftOut: (CommitInfo) -> Bool
    ) throws(GitError) -> [FilePath: [FileVersion]] {
        // What a file is called at the commit that is looked at, and what it is called now.
        var open: [FilePath: FilePath] = [:]
        for difference in try differences(from: nil, to: tip) where difference.path.starts(with: folder) {
            open[difference.path] = difference.path
        }
        var found: [FilePath: [FileVersion]] = [:]
        // What was added, and may have been removed before.
        var added: [FilePath: FilePath] = [:]
        for commit in try log(from: tip) where !open.isEmpty || !added.isEmpty {
            guard commit.parents.count < 2 else { continue }
            let differences = try differences(from: commit.parents.first, to: commit.id)
            let isLeftOut = isLeftOut(commit)
            var gone = differences.goneByContent
            for difference in differences {
                guard let now = open[difference.path], let new = difference.new else { continue }
                if difference.old == nil {
                    open[difference.path] = nil
                    if let older = gone.removeValue(forKey: new.id), open[older] == nil {
                        open[older] = now
                        added[older] = nil
                        continue
                    }
                    added[difference.path] = now
                }
                found[now, default: []].append(
                    FileVersion(
                        id: new.id, time: commit.author.time, isLeftOut: isLeftOut && difference.old != nil))
            }
            for path in added.isEmpty ? [] : Array(differences.removed.keys) {
                if let now = added.removeValue(forKey: path) { open[path] = now }
            }
        }
        return found
    }
}
