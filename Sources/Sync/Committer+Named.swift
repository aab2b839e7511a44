import Git
import Stores
public import SystemPackage

/// Why files could not be committed together.
public struct CommitError: Error, Sendable, Equatable {
    /// One sentence.
    public let message: String
    /// Whether secrets were renamed while they were read: what waits is to be looked at anew.
    var isOvertaken = false
}

extension Committer {
    /// Commits these files of the store, as they are now, as one commit with this message, and nothing else. Where
    /// nothing of them differs from the newest commit, or the store is no git repository, there is nothing to do.
    public func commit(paths: [FilePath], message: String) throws(CommitError) {
        var batch = PendingChanges()
        for path in paths { batch.add(.saved(path)) }
        batch.message = message
        try writer.commit(batch)
    }

    /// Brings the index of every repository of the store in step with its branch, where a commit was killed between the
    /// two. What of it is no part of a change of recipients waits to be committed anew.
    public func mendIndex() throws(CommitError) {
        do throws(GitError) {
            for part in state.repositories(try state.ownRepository()) { try writer.mend(part) }
        } catch {
            throw CommitError(message: "cannot repair git's index: \(error.message).")
        }
    }

    /// Whether the newest commit has these files as they lie on disk, but for those that git ignores; false in a store
    /// that is no git repository.
    public func isCommitted(paths: [FilePath]) throws(CommitError) -> Bool {
        do throws(GitError) {
            guard var part = try state.ownRepository(),
                case .branch(_, _, let commit?) = try part.repository.head()
            else { return false }
            part.paths = paths
            part = try writer.committable(part, onto: commit, exactly: true)
            return try part.repository.plannedTree(parent: commit, paths: part.paths).changes.isEmpty
        } catch {
            throw CommitError(message: "cannot read the latest commit: \(error.message).")
        }
    }

    /// Which of these files no commit holds as they lie on disk, as git ignores them, or they could not be committed. Empty in
    /// a store that is no git repository, as none of it is to be in one.
    public func uncommitted(among paths: [FilePath]) throws(CommitError) -> [FilePath] {
        var batch = PendingChanges()
        for path in paths { batch.add(.saved(path)) }
        var missing: [FilePath] = []
        for part in try state.parts(of: batch) {
            do throws(GitError) {
                let parent = try part.repository.commit(at: "HEAD")
                let changes = try part.repository.plannedTree(parent: parent, paths: part.paths).changes
                missing += changes.filter { $0.new != nil && $0.new != $0.old }.map { part.inStore($0.path) }
            } catch {
                throw CommitError(message: "cannot read the latest commit: \(error.message).")
            }
        }
        let wanted = Set(paths)
        return missing.filter { wanted.contains($0) }
    }

    /// Pushes what the remote does not have; returns when that is done, or has failed, which `status` tells.
    public func pushCommits() async {
        await synchronize(.push)
    }

    /// The lists that keep this store and its remotes apart, as the remotes were last fetched.
    public func partedLists() throws(CommitError) -> [PartedList] { try integrator.partedLists() }

    /// Fetches, merges and pushes; of these lists, where the remote still has them as they were looked at, the store's
    /// own stay.
    /// - Returns: what went wrong, as one sentence.
    public func synchronizeKeeping(_ lists: [PartedList]) async -> String? {
        integrator.settledLists = lists.reduce(into: [:]) { $0.merge($1.seen) { first, _ in first } }
        defer { integrator.settledLists = [:] }
        return await synchronizeNow()
    }
}
