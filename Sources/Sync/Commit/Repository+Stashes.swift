import Git
import SystemPackage

extension Repository {
    /// The newest stashes, newest first, each before the commit of the files in it that git did not know (git-stash(1),
    /// "Discussion").
    func stashes() throws(GitError) -> [ObjectID] {
        guard try commit(at: "refs/stash") != nil else { return [] }
        var found: [ObjectID] = []
        for line in reflog(of: "refs/stash").prefix(20) {
            // One of which the objects are gone has nothing to offer, and keeps nothing from being committed.
            guard let info = try? commitInfo(line.new) else { continue }
            found.append(line.new)
            found += info.parents.dropFirst(2)
        }
        return found
    }

    /// Whether one of these commits has this at this path.
    func has(_ item: TreeItem, at path: FilePath, inOneOf commits: [ObjectID]) throws(GitError) -> Bool {
        for commit in commits where try self.item(at: path, in: commit)?.id == item.id { return true }
        return false
    }
}
