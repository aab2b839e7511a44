import CGit
import SystemPackage

@testable import Git

/// An index changed by libgit2, to compare with what is made of it over its bytes.
enum LibGit2Index {
    static func apply(_ edits: [IndexEdit], to path: FilePath) throws(GitError) {
        let index = try Owned("cannot read the index", free: git_index_free) { made in
            path.withPlatformString { git_index_open(&made, $0) }
        }
        for edit in edits {
            let code = edit.path.withPlatformString { name in
                git_index_conflict_remove(index.pointer, name)
                guard let new = edit.entry else { return git_index_remove(index.pointer, name, 0) }
                var entry = entry(new)
                entry.path = name
                return git_index_add(index.pointer, &entry)
            }
            if code != GIT_ENOTFOUND.rawValue { try check(code, "cannot change '\(edit.path)'") }
        }
        try check(git_index_write(index.pointer), "cannot write the index")
    }

    private static func entry(_ new: IndexEntry) -> git_index_entry {
        var entry = git_index_entry()
        entry.id = new.blob.id.oid
        entry.mode = new.blob.mode.rawValue
        entry.ctime = git_index_time(
            seconds: new.file.changed.seconds, nanoseconds: new.file.changed.nanoseconds)
        entry.mtime = git_index_time(
            seconds: new.file.modified.seconds, nanoseconds: new.file.modified.nanoseconds)
        (entry.dev, entry.ino) = (new.file.device, new.file.inode)
        (entry.uid, entry.gid) = (new.file.user, new.file.group)
        entry.file_size = new.file.size
        return entry
    }
}
