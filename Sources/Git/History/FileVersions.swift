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
    /// follows files that were only renamed, and each on the lines only that it came from. What a merge made is a version, too.
    /// What a file held before it was removed is a version of the one that has its name now.
    /// - Parameter isLeftOut: whether a commit changes nothing that counts in the files that were there before.
    public func versions(
        below folder: FilePath, from tip: ObjectID, leavingOut isLeftOut: (CommitInfo) -> Bool
    ) throws(GitError) -> [FilePath: [FileVersion]] {
        var followed = try FollowedFiles(below: folder, at: tip, in: self)
        var found: [FilePath: [FileVersion]] = [:]
        try visitLog(from: tip) { commit throws(GitError) in
            guard var line = followed.take(commit.id) else { return !followed.isEmpty }
            guard commit.parents.count < 2 else {
                for (now, item) in try followed.part(line, at: commit, in: self) {
                    found[now, default: []].append(
                        FileVersion(id: item.id, time: commit.author.time, isLeftOut: false))
                }
                return true
            }
            let differences = try differences(from: commit.parents.first, to: commit.id)
            let isLeftOut = isLeftOut(commit)
            var gone = differences.goneByContent
            for difference in differences {
                guard let names = line.open[difference.path], let new = difference.new else { continue }
                if difference.old == nil {
                    line.open[difference.path] = nil
                    if let older = gone.removeValue(forKey: new.id), line.open[older] == nil {
                        line.open[older] = names
                        line.added[older] = nil
                        continue
                    }
                    for now in names {
                        line.added[difference.path] = FollowedFiles.Added(now: now, commit: commit)
                    }
                }
                for now in names {
                    found[now, default: []].append(
                        FileVersion(
                            id: new.id, time: commit.author.time,
                            isLeftOut: isLeftOut && difference.old != nil))
                }
            }
            for path in line.added.isEmpty ? [] : Array(differences.removed.keys) {
                if let file = line.added.removeValue(forKey: path) { line.open(path, [file.now]) }
            }
            followed.put(line, commit.parents.first)
            return !followed.isEmpty
        }
        return found
    }
}
