import Git
import Stores
import Synchronization
import System
public import SystemPackage

/// What `.gitignore` matches is saved and not committed, as with pass, which refuses to add it and says so.
extension Committer {
    /// Whether a file of the store is one that git ignores, as far as it was looked at.
    public nonisolated func isIgnored(_ path: FilePath) -> Bool {
        shared.withLock { $0.ignored.contains(path) }
    }

    /// The paths of a share without those that git ignores. What was ignored before is looked at again, unless the commit
    /// is to hold these paths and no others.
    func committable(
        _ share: Share, onto parent: ObjectID?, exactly: Bool
    ) throws(GitError) -> Share {
        var share = share
        let own = Set(share.paths)
        if !exactly {
            share.paths += ignoredPaths(in: share).filter { !own.contains($0) }
        }
        try leaveOutRefused(&share, onto: parent)
        let ignored = try share.repository.ignored(share.paths, parent: parent)
        let looked = share.paths.map { share.inStore($0) }
        share.paths.removeAll { ignored.contains($0) }
        let present = ignored.map { share.inStore($0) }.filter {
            ((try? store.root.statusIfPresent(of: $0)) ?? nil) != nil
        }
        shared.withLock {
            $0.ignored.subtract(looked)
            $0.ignored.formUnion(present)
        }
        return share
    }

    /// Remembers which secrets and lists a look found ignored in a repository.
    func note(ignored changes: [WorkingTreeChange], _ share: Share) {
        let before = ignoredPaths(in: share).map { share.inStore($0) }
        let found = changes.filter { $0.kind == .ignored }.map { share.inStore($0.path) }.filter { path in
            path.isCommitted && !path.components.contains { $0.string.hasPrefix(".passdir-") }
        }
        shared.withLock {
            $0.ignored.subtract(before)
            $0.ignored.formUnion(found)
        }
    }

    /// Relative to the repository.
    private func ignoredPaths(in share: Share) -> [FilePath] {
        shared.withLock { $0.ignored }.compactMap { path in
            guard store.repositories.around(path) == share.nested else { return nil }
            var relative = path
            return share.nested.isEmpty || relative.removePrefix(share.nested) ? relative : nil
        }.sorted { $0.string < $1.string }
    }
}

extension Committer.Shared {
    /// What `status` says of the secrets that git ignores; nil when there are none.
    var ignoredSentence: String? {
        guard !ignored.isEmpty else { return nil }
        let names = ignored.map { $0.extension == "gpg" ? String($0.string.dropLast(4)) : $0.string }.sorted()
        let more = names.count > 5 ? " and \(names.count - 5) more" : ""
        return "saved but not committed, because .gitignore matches: "
            + names.prefix(5).joined(separator: ", ") + more
    }
}
