import Git
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Looks at the repository: mends what a crash left half done, finds what was saved but never committed, pushes
    /// what was never pushed.
    public func start() async {
        do {
            guard let repository = try Repository.discover(from: store.root.path),
                let top = repository.workingDirectory?.lexicallyNormalized()
            else {
                shared.withLock { $0.status.state = .noRepository }
                return
            }
            try mend(repository)
            refreshStatus(repository)
            try noteUncommitted(repository, top)
        } catch {
            shared.withLock { shared in
                shared.status.state = .noCommits
                shared.commitError =
                    "commits are off for this store because \(error.message): reading and saving work."
            }
            log.warning("\(error.message)")
            return
        }
        commitPending()
        await push()
    }

    /// A commit that was interrupted between moving the branch and bringing the index in step.
    private func mend(_ repository: Repository) throws(GitError) {
        let journal = CommitJournal(gitDirectory: repository.gitDirectory)
        guard let (paths, time) = journal.left() else { return }
        let head = try repository.head()
        var ref: String?
        if case .branch(_, let name, _) = head { ref = name }
        journal.removeLeftLocks(
            gitDirectory: repository.gitDirectory, commonDirectory: repository.commonDirectory, ref: ref,
            since: time)
        if case .branch(_, _, let commit?) = head { try repository.updateIndex(paths: paths, to: commit) }
        journal.remove()
    }

    /// Secrets in the working tree that are not as in the newest commit. What the user has staged is the user's.
    private func noteUncommitted(_ repository: Repository, _ top: FilePath) throws(GitError) {
        var prefix = store.root.path
        if !prefix.removePrefix(top) { prefix = FilePath() }
        for change in try repository.changes(under: prefix.isEmpty ? nil : prefix)
        where change.unstaged && !change.alsoStaged && change.kind != .conflicted {
            var path = change.path
            if !prefix.isEmpty { _ = path.removePrefix(prefix) }
            guard let name = path.lastComponent?.string, name.hasSuffix(".gpg") || name == ".gpg-id",
                !name.hasPrefix(Store.temporaryPrefix)
            else { continue }
            let isGone = change.kind == .deleted
            note(isGone ? .removed(path) : .saved(path))
        }
    }
}
