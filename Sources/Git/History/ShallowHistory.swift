import CGit
import Glibc
import System
import SystemPackage

/// The history of a shallow clone, which ends where it was cut off: libgit2 1.5 walks on to commits that are not there.
///
/// Walks in memory: what a shallow clone has of its history is small.
struct ShallowHistory {
    private let repository: Repository
    private let boundary: Set<ObjectID>

    /// Nil for a repository with its whole history.
    init?(_ repository: Repository) throws(GitError) {
        guard repository.isShallow else { return nil }
        self.repository = repository
        boundary = try Self.boundary(of: repository)
    }

    /// The commits whose parents are not there (gitformat-shallow: a name a line).
    static func boundary(of repository: Repository) throws(GitError) -> Set<ObjectID> {
        let path = repository.commonDirectory.appending("shallow")
        guard path.exists || errno != ENOENT else { return [] }
        let bytes = try GitError.wrapping(
            "cannot read \(path)", OwnedDescriptor(opening: path, O_RDONLY).readAll())
        let text = String(decoding: bytes, as: UTF8.self)
        return Set(text.split(whereSeparator: \.isNewline).compactMap { ObjectID(hex: String($0)) })
    }

    /// Everything that can be reached, the starts too.
    func reachable(from starts: [ObjectID]) throws(GitError) -> [ObjectID: CommitInfo] {
        var found: [ObjectID: CommitInfo] = [:]
        var open = starts
        while let id = open.popLast() {
            guard found[id] == nil else { continue }
            let commit = try repository.commitInfo(id, cutAt: boundary)
            found[id] = commit
            open += commit.parents
        }
        return found
    }

    /// As `Repository.log`.
    func log(
        from tip: ObjectID, hiding hidden: [ObjectID], limit: Int
    ) throws(GitError) -> [CommitInfo] {
        let out = try reachable(from: hidden)
        let commits = try reachable(from: [tip]).filter { out[$0.key] == nil }
        var children: [ObjectID: Int] = [:]
        for commit in commits.values { for parent in commit.parents { children[parent, default: 0] += 1 } }
        var ready = commits.values.filter { children[$0.id] == nil }
        var found: [CommitInfo] = []
        while found.count < limit,
            let newest = ready.indices.max(by: { ready[$0].committer.time < ready[$1].committer.time })
        {
            let commit = ready.remove(at: newest)
            found.append(commit)
            for parent in commit.parents {
                children[parent, default: 1] -= 1
                if children[parent] == 0, let parent = commits[parent] { ready.append(parent) }
            }
        }
        return found
    }

    /// As `Repository.mergeBase`.
    func mergeBase(_ one: ObjectID, _ two: ObjectID) throws(GitError) -> ObjectID? {
        let other = try reachable(from: [two])
        let common = try reachable(from: [one]).filter { other[$0.key] != nil }
        // The best ones are in no other's history.
        let inHistory = Set(common.values.flatMap(\.parents))
        return common.values.filter { !inHistory.contains($0.id) }
            .max { ($0.committer.time, $0.id.hex) < ($1.committer.time, $1.id.hex) }?.id
    }

    /// As `Repository.isAncestor`.
    func isAncestor(_ ancestor: ObjectID, of descendant: ObjectID) throws(GitError) -> Bool {
        try reachable(from: [descendant])[ancestor] != nil
    }

    /// As `Repository.aheadBehind`.
    func aheadBehind(
        local: ObjectID, upstream: ObjectID
    ) throws(GitError) -> (ahead: Int, behind: Int) {
        let (ours, theirs) = (try reachable(from: [local]), try reachable(from: [upstream]))
        return (
            ours.keys.count { theirs[$0] == nil }, theirs.keys.count { ours[$0] == nil }
        )
    }
}
