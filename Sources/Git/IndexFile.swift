import CGit
import Glibc
import System
import SystemPackage

/// The index as libgit2 reads and writes it: for what `IndexPatch` does not know. Slow where there are many entries.
///
/// libgit2 locks only while it writes, which would lose what another process stages between its read and its write; so
/// it works on a copy that replaces the index at once.
struct IndexFile: ~Copyable {
    private let copy: IndexCopy
    private let index: Owned

    init(_ path: FilePath) throws(GitError) {
        let source = try IndexSource.read(path)
        let copy = try IndexCopy(of: path, old: source?.facts)
        if let source {
            try source.withBytes { bytes throws(GitError) in
                let file = try copy.create()
                try GitError.wrapping("cannot copy the index", file.writeAll(bytes))
            }
        }
        let place = copy.path
        let index = try Owned("cannot read the index", free: git_index_free) { made in
            place.withPlatformString { git_index_open(&made, $0) }
        }
        if let source {
            IndexFile.smudgeRacyEntries(index.pointer, written: FileTime(source.facts.st_mtim))
        }
        self.copy = copy
        self.index = index
    }

    func apply(_ edit: IndexEdit) throws(GitError) {
        if let entry = edit.entry { try put(edit.path, entry) } else { try remove(edit.path) }
    }

    private func put(_ path: FilePath, _ new: IndexEntry) throws(GitError) {
        var entry = git_index_entry()
        entry.id = new.blob.id.oid
        entry.mode = new.blob.mode.rawValue
        entry.ctime = git_index_time(
            seconds: new.file.changed.seconds, nanoseconds: new.file.changed.nanoseconds)
        entry.mtime = git_index_time(
            seconds: new.file.modified.seconds, nanoseconds: new.file.modified.nanoseconds)
        entry.dev = new.file.device
        entry.ino = new.file.inode
        entry.uid = new.file.user
        entry.gid = new.file.group
        entry.file_size = new.file.size
        let index = index.pointer
        let code = path.withPlatformString { name in
            git_index_conflict_remove(index, name)
            entry.path = name
            return git_index_add(index, &entry)
        }
        try check(code, "cannot put '\(path)' into the index")
    }

    private func remove(_ path: FilePath) throws(GitError) {
        let index = index.pointer
        let code = path.withPlatformString { name in
            git_index_conflict_remove(index, name)
            return git_index_remove(index, name, 0)
        }
        if code != GIT_ENOTFOUND.rawValue { try check(code, "cannot remove '\(path)' from the index") }
    }

    /// Writes the copy to its end; it has not taken the index's place yet.
    consuming func written() throws(GitError) -> IndexCopy {
        try check(git_index_write(index.pointer), "cannot write the index")
        return copy
    }

    /// As `IndexPatch` does.
    private static func smudgeRacyEntries(_ index: OpaquePointer, written: FileTime) {
        for position in 0..<git_index_entrycount(index) {
            guard let entry = git_index_get_byindex(index, position) else { continue }
            let time = entry.pointee.mtime
            let modified = FileTime(seconds: time.seconds, nanoseconds: time.nanoseconds)
            guard modified.mayChangeUnseen(since: written), entry.pointee.file_size != 0 else { continue }
            // The entry belongs to our own copy of the index; libgit2 offers it as constant only so that nobody
            // changes its path, by which the entries are sorted.
            UnsafeMutablePointer(mutating: entry).pointee.file_size = 0
        }
    }
}
