import Git
import Stores
import System
import SystemPackage

/// What no other machine would take from a branch is saved and not committed: the whole branch would be refused for it,
/// there and, after a clone, here. Nor is what lies in the folder of a submodule that is not checked out.
extension CommitWriter {
    /// Takes the files out of a part that the parent does not have and that no commit takes, and remembers those that are
    /// there. libgit2 fails at such a path as a whole, also where nothing is.
    func leaveOutRefused(_ part: inout RepositoryPart, onto parent: ObjectID?) throws(GitError) {
        var found: [FilePath: Refusal] = [:]
        var gone: Set<FilePath> = []
        var submodules = SubmoduleFolders(part.repository, of: parent)
        for path in part.paths {
            let (reason, isThere, isFolder) = objection(to: path, part.inStore(path))
            // A path that cannot even be asked for is in no branch that git made.
            if let reason {
                guard !isIn(parent, path, part) else { continue }
                if isThere { found[path] = .path(reason) } else { gone.insert(path) }
            } else if let folder = try submodules.folder(around: path) {
                if isThere, !isFolder {
                    found[path] = .submodule(folder: folder, top: part.top)
                } else {
                    gone.insert(path)
                }
            }
        }
        let looked = part.paths.map { part.inStore($0) }
        part.paths.removeAll { found[$0] != nil || gone.contains($0) }
        let places = found.map { (part.inStore($0.key), $0.value) }
        state.withLock {
            for path in looked { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    /// Remembers which files a look found that no commit takes.
    func note(refused found: [FilePath: Refusal], _ part: RepositoryPart, _ head: Head) {
        var places: [FilePath: Refusal] = [:]
        for (path, reason) in found {
            if case .branch(_, _, let commit?) = head, isIn(commit, path, part) { continue }
            places[part.inStore(path)] = reason
        }
        let before = state.withLock { Array($0.refused.keys) }
            .filter { store.repositories.around($0) == part.nested }
        state.withLock {
            for path in before { $0.refused[path] = nil }
            $0.refused.merge(places) { $1 }
        }
    }

    private func isIn(_ commit: ObjectID?, _ path: FilePath, _ part: RepositoryPart) -> Bool {
        commit.flatMap { try? part.repository.item(at: path, in: $0) } != nil
    }

    private func objection(
        to path: FilePath, _ inStore: FilePath
    ) -> (reason: String?, isThere: Bool, isFolder: Bool) {
        do throws(Errno) {
            let status = try store.root.statusIfPresent(of: inStore)
            let isLink = status?.kind == .symbolicLink
            let reason = Repository.objection(toCommitting: path, isLink: isLink)
            return (reason, status != nil, status?.kind == .directory)
        } catch {
            let reason = Repository.objection(toCommitting: path, isLink: false)
            return (reason, error == .fileNameTooLong, false)
        }
    }
}
