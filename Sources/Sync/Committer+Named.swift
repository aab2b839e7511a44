import Git
import Stores
public import SystemPackage

/// Why files could not be committed together.
public struct CommitError: Error, Sendable, Equatable {
    /// One sentence.
    public let message: String
}

extension Committer {
    /// Commits these files of the store, as they are now, as one commit with this message, and nothing else. Where
    /// nothing of them differs from the newest commit, or the store is no git repository, there is nothing to do.
    public func commit(paths: [FilePath], message: String) throws(CommitError) {
        var batch = PendingChanges()
        for path in paths { batch.add(.saved(path)) }
        batch.message = message
        do {
            try commit(batch)
        } catch {
            throw CommitError(message: error.message)
        }
    }

    /// Brings the index of every repository of the store in step with its branch, where a commit was killed between the
    /// two. What of it is no part of a change of recipients waits to be committed anew.
    public func mendIndex() throws(CommitError) {
        do throws(GitError) {
            for share in repositories(try ownRepository()) { try mend(share) }
        } catch {
            throw CommitError(message: "git's index cannot be mended: \(error.message).")
        }
    }

    /// Whether the newest commit has these files as they lie on disk, but for those that git ignores; false in a store
    /// that is no git repository.
    public func isCommitted(paths: [FilePath]) throws(CommitError) -> Bool {
        do {
            guard let repository = try store.repositories.own(),
                case .branch(_, _, let commit?) = try repository.head()
            else { return false }
            let refused = try refused(paths, repository, onto: commit)
            let taken = paths.filter { !refused.contains($0) }
            let ignored = try repository.ignored(taken, parent: commit)
            return try repository.plannedTree(parent: commit, paths: taken.filter { !ignored.contains($0) })
                .changes.isEmpty
        } catch {
            throw CommitError(message: "the newest commit cannot be read: \(error.message).")
        }
    }

    /// Pushes what the remote does not have; returns when that is done, or has failed, which `status` tells.
    public func pushCommits() async {
        await push()
    }
}
