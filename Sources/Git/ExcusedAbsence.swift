import CGit
import Glibc
import SystemPackage

extension Repository {
    /// Whether the user has told git that a file's absence from the working tree means nothing: its index entry is marked
    /// skip-worktree, as a sparse checkout does, or assume-unchanged (git-update-index(1)).
    ///
    /// An index that libgit2 cannot read (index.skipHash) excuses nothing: our own reader commits to it all the same.
    func isAbsenceExcused(_ path: FilePath) -> Bool {
        guard
            let index = try? Owned(
                "cannot read the index", free: git_index_free, { git_repository_index(&$0, pointer) })
        else { return false }
        let entry = path.withPlatformString { git_index_get_bypath(index.pointer, $0, 0) }
        guard let entry = entry?.pointee else { return false }
        return UInt32(entry.flags) & GIT_INDEX_ENTRY_VALID.rawValue != 0
            || UInt32(entry.flags_extended) & GIT_INDEX_ENTRY_SKIP_WORKTREE.rawValue != 0
    }
}
