import Git
import Stores
import Synchronization
import SystemPackage

/// What no other machine would take from a branch is saved and not committed: the whole branch would be refused for it,
/// there and, after a clone, here.
extension Committer {
    /// Takes the files out of a share that the parent does not have and that no other machine would take, and remembers
    /// them.
    func leaveOutRefused(_ share: inout Share, onto parent: ObjectID?) throws(GitError) {
        var found: [FilePath: String] = [:]
        for path in share.paths {
            guard let reason = objection(to: path, share.inStore(path)) else { continue }
            if let parent, try share.repository.item(at: path, in: parent) != nil { continue }
            found[path] = reason
        }
        let looked = share.paths.map { share.inStore($0) }
        share.paths.removeAll { found[$0] != nil }
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
            if case .branch(_, _, let commit?) = head,
                ((try? share.repository.item(at: path, in: commit)) ?? nil) != nil
            {
                continue
            }
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
    func refused(_ paths: [FilePath]) -> Set<FilePath> { Set(paths.filter { objection(to: $0, $0) != nil }) }

    private func objection(to path: FilePath, _ inStore: FilePath) -> String? {
        do throws(Errno) {
            // What is gone is gone from the branch, too.
            guard let status = try store.root.statusIfPresent(of: inStore) else { return nil }
            return Repository.objection(toCommitting: path, isLink: status.kind == .symbolicLink)
        } catch {
            return error == .fileNameTooLong ? PathBounds.objection(to: path) : nil
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
