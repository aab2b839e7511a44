import Git
import Stores
import Synchronization
import System
import SystemPackage

/// What no other machine would take from a branch is saved and not committed: the whole branch would be refused for it,
/// there and, after a clone, here.
extension Committer {
    /// Takes the files out of a share that the parent does not have and that no other machine would take, and remembers
    /// those that are there. libgit2 fails at such a path as a whole, also where nothing is.
    func leaveOutRefused(_ share: inout Share, onto parent: ObjectID?) {
        var found: [FilePath: String] = [:]
        var gone: Set<FilePath> = []
        for path in share.paths {
            let (reason, isThere) = objection(to: path, share.inStore(path))
            // A path that cannot even be asked for is in no branch that git made.
            guard let reason, !isIn(parent, path, share) else { continue }
            if isThere { found[path] = reason } else { gone.insert(path) }
        }
        let looked = share.paths.map { share.inStore($0) }
        share.paths.removeAll { found[$0] != nil || gone.contains($0) }
        let places = found.map { (share.inStore($0.key), $0.value) }
        shared.withLock {
            for path in looked { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    /// Remembers which files a look found that no other machine would take.
    func note(refused found: [FilePath: String], _ share: Share, _ head: Head) {
        var places: [FilePath: String] = [:]
        for (path, reason) in found {
            if case .branch(_, _, let commit?) = head, isIn(commit, path, share) { continue }
            places[share.inStore(path)] = reason
        }
        let before = shared.withLock { Array($0.refused.keys) }
            .filter { store.repositories.around($0) == share.nested }
        shared.withLock {
            for path in before { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    /// Which of these files, relative to the repository, a commit leaves out.
    func refused(_ paths: [FilePath]) -> Set<FilePath> {
        Set(paths.filter { objection(to: $0, $0).reason != nil })
    }

    private func isIn(_ commit: ObjectID?, _ path: FilePath, _ share: Share) -> Bool {
        commit.flatMap { try? share.repository.item(at: path, in: $0) } != nil
    }

    private func objection(to path: FilePath, _ inStore: FilePath) -> (reason: String?, isThere: Bool) {
        do throws(Errno) {
            let status = try store.root.statusIfPresent(of: inStore)
            let isLink = status?.kind == .symbolicLink
            return (Repository.objection(toCommitting: path, isLink: isLink), status != nil)
        } catch {
            return (Repository.objection(toCommitting: path, isLink: false), error == .fileNameTooLong)
        }
    }
}

extension Committer.Shared {
    /// What `status` says of the files that no other machine would take; nil when there are none.
    var refusedSentence: String? {
        guard !refused.isEmpty else { return nil }
        let all = refused.sorted { $0.key.string < $1.key.string }.prefix(5).map { path, reason in
            "\(VisibleText.cut(path.string, atMost: 100)) \(reason)"
        }
        let more = refused.count > 5 ? ", and \(refused.count - 5) more" : ""
        return "saved but not committed, because no other machine would take it: "
            + all.joined(separator: ", ") + more
    }
}
