import Git
import Stores
import System
import SystemPackage

/// What `.gitignore` matches is saved and not committed, as with pass, which refuses to add it and says so.
extension CommitWriter {
    /// The paths of a part without those that git ignores. What was ignored before is looked at again, unless the commit
    /// is to hold these paths and no others.
    func committable(
        _ part: RepositoryPart, onto parent: ObjectID?, exactly: Bool
    ) throws(GitError) -> RepositoryPart {
        var part = part
        let own = Set(part.paths)
        if !exactly {
            part.paths += ignoredPaths(in: part).filter { !own.contains($0) }
        }
        try leaveOutRefused(&part, onto: parent)
        let ignored = try part.repository.ignored(part.paths, parent: parent)
        let looked = part.paths.map { part.inStore($0) }
        part.paths.removeAll { ignored.contains($0) }
        let present = ignored.map { part.inStore($0) }.filter {
            ((try? store.root.statusIfPresent(of: $0)) ?? nil) != nil
        }
        state.withLock {
            $0.ignored.subtract(looked)
            $0.ignored.formUnion(present)
        }
        return part
    }

    /// Remembers which secrets and lists a look found ignored in a repository.
    func note(ignored changes: [WorkingTreeChange], _ part: RepositoryPart) {
        let before = ignoredPaths(in: part).map { part.inStore($0) }
        let found = changes.filter { $0.kind == .ignored }.map { part.inStore($0.path) }.filter { path in
            path.isCommitted && !path.components.contains { $0.string.hasPrefix(".passdir-") }
        }
        state.withLock {
            $0.ignored.subtract(before)
            $0.ignored.formUnion(found)
        }
    }

    /// Relative to the repository.
    private func ignoredPaths(in part: RepositoryPart) -> [FilePath] {
        state.withLock { $0.ignored }.compactMap { path in
            store.repositories.around(path) == part.nested ? path.relative(to: part.nested) : nil
        }.sorted { $0.string < $1.string }
    }
}
