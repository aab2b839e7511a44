import Glibc
import System
import SystemPackage

extension Repository {
    private static let brought = ["refs/remotes/", "refs/passdir/remotes/", "refs/passdir/seen/"]
    /// More lines than a log of references gets in the hours that somebody works on one question.
    private static let longestLog = 100
    /// More files and folders than all versions of a store's last hundred fetches have.
    private static let mostEntries = 4_000_000

    /// The commits that git brought here from elsewhere, and recently: what remotes were seen at by us or by git, what
    /// was fetched last, and where HEAD went without a commit being made here (a pull, a checkout).
    ///
    /// References are set before files are placed, and what a remote's branch led to a while ago is in its log: so that
    /// these have what a merge placed also when somebody has pushed again since.
    public func broughtCommits() throws(GitError) -> Set<ObjectID> {
        var found: Set<ObjectID> = []
        var tip: ObjectID?
        if case .branch(_, _, let commit) = try head() { tip = commit }
        for other in try namedTips() where Self.brought.contains(where: { other.name.hasPrefix($0) }) {
            found.insert(other.target)
            for line in reflog(of: other.name).prefix(Self.longestLog) { found.insert(line.new) }
            if let tip, let base = (try? mergeBase(tip, other.target)) ?? nil { found.insert(base) }
        }
        for line in reflog(of: "HEAD").prefix(Self.longestLog) where !line.message.hasPrefix("commit") {
            found.insert(line.new)
        }
        return found.union(fetchedLast()).filter(has)
    }

    /// What the last fetch of the git program brought, from wherever (`FETCH_HEAD`: a line for each, its id first).
    private func fetchedLast() -> [ObjectID] {
        let file = gitDirectory.appending("FETCH_HEAD")
        guard let descriptor = try? OwnedDescriptor(opening: file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let bytes = try? descriptor.readAll(atMost: 16 << 20)
        else { return [] }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            ObjectID(hex: String(decoding: line.prefix(40), as: UTF8.self))
        }
    }

    /// The names of all files of some commits, under whatever path.
    /// - Throws: also when there are too many, or what was fetched is damaged.
    public func blobs(of commits: Set<ObjectID>) throws(GitError) -> Set<ObjectID> {
        let reader = try ObjectReader(self)
        var waiting: [ObjectID] = []
        for commit in commits { waiting.append(try commitInfo(commit).tree) }
        var seen: Set<ObjectID> = []
        var found: Set<ObjectID> = []
        var rest = Self.mostEntries
        while let tree = waiting.popLast() {
            guard seen.insert(tree).inserted else { continue }
            let entries = try reader.entries(of: tree, atMost: rest)
            rest -= entries.count
            for entry in entries where !entry.isSubmodule {
                if entry.isTree { waiting.append(entry.id) } else { found.insert(entry.id) }
            }
        }
        return found
    }
}
