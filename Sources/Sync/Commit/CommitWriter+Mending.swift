import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// What a process that was killed has left half done.
extension CommitWriter {
    /// A commit or merge that was interrupted: what its note names is brought back to the branch in the index, and
    /// committed as the working tree has it.
    /// - Parameter noted: paths that the caller is about to commit anyway.
    func mend(_ part: RepositoryPart, noted: [FilePath] = []) throws(GitError) {
        let repository = part.repository
        guard let left = CommitJournal(leftIn: repository.gitDirectory) else { return }
        repository.removeLeftLocks()
        CommitJournal.removeLeftFiles(top: part.top)
        for attempt in 0..<100 {
            do throws(GitError) {
                if try repository.restoreDamagedIndex() {
                    log.warning("put back git's index, which was damaged, as it was before the last commit")
                }
                let head = try repository.head()
                guard case .branch(_, _, let commit?) = head else { break }
                try repository.updateIndex(paths: left.paths, to: commit)
                // Moved meanwhile, the index would take back what the new tip has.
                if try repository.head() == head { break }
            } catch {
                guard error.code == .locked, attempt < 99 else { throw error }
                PosixThread.sleep(for: .milliseconds(20))
            }
        }
        repository.removeIndexCopies()
        // The files of a change of recipients that was killed are that change's to commit or to take back.
        let inChange = Reencryption.paths(underWayIn: store)
        let known = Set(noted)
        for path in left.paths where !known.contains(path) && !inChange.contains(part.inStore(path)) {
            state.noteFound(.saved(part.inStore(path)))
        }
        left.remove()
    }

    /// Packs that a killed commit or transfer had begun: libgit2's temporary names, which `git gc` does not know. As git
    /// does with its own, those of today are left alone: whoever writes one need not have it open all the time.
    func removeLeftPacks(_ repository: Repository) {
        let folder = repository.commonDirectory.pushing("objects/pack")
        for name in DirectoryStream.names(in: folder) where name.hasPrefix("pack_git2_") {
            let path = folder.appending(name)
            guard let facts = path.facts(), facts.st_uid == geteuid(), facts.kind == .regular,
                facts.st_mtim.tv_sec < Glibc.time(nil) - 86_400
            else { continue }
            path.unlink()
        }
    }
}
