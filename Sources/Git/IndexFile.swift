import CGit
import Glibc
import SystemPackage

/// `index.lock`, held, and the copy of the index that is worked on under it; both are gone at the end of its life.
private struct IndexLock: ~Copyable {
    let index: FilePath
    let copy: FilePath
    private let lock: FilePath

    init(_ index: FilePath) throws(GitError) {
        let lock = index.withSuffix(".lock")
        let held = lock.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o666) }
        guard held >= 0 else {
            let error = Errno(rawValue: errno)
            throw error == .fileExists
                ? GitError(code: .locked, message: "another program holds \(lock)")
                : .system(error, "cannot lock the index")
        }
        close(held)
        self.index = index
        self.lock = lock
        copy = index.withSuffix(".passdir")
    }

    deinit {
        _ = copy.withPlatformString { unlink($0) }
        _ = lock.withPlatformString { unlink($0) }
    }

    /// Makes the copy; returns the metadata of the index, nil when there is none.
    func duplicate() throws(GitError) -> stat? {
        // What a killed process of ours may have left: nobody else works on the copy while we hold the lock.
        for left in [copy, copy.withSuffix(".lock")] { _ = left.withPlatformString { unlink($0) } }
        let opened = index.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        if opened < 0, errno == ENOENT { return nil }
        guard opened >= 0 else { throw .system(Errno(rawValue: errno), "cannot read the index") }
        let source = Descriptor(opened)
        var status = stat()
        fstat(source.raw, &status)
        let made = copy.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600) }
        guard made >= 0 else { throw .system(Errno(rawValue: errno), "cannot copy the index") }
        let target = Descriptor(made)
        let bytes = try source.readAll(expecting: Int(status.st_size), index)
        var done = 0
        while done < bytes.count {
            let wrote = bytes.withUnsafeBytes { write(target.raw, $0.baseAddress! + done, $0.count - done) }
            if wrote < 0 {
                if errno == EINTR { continue }
                throw .system(Errno(rawValue: errno), "cannot copy the index")
            }
            done += wrote
        }
        return status
    }
}

/// The index under its lock. libgit2 locks only while it writes, which would lose what another process stages
/// between its read and its write; so the lock is taken here and libgit2 works on a copy beside the index.
struct IndexFile: ~Copyable {
    private let lock: IndexLock
    private let index: Owned
    private let old: stat?

    init(_ path: FilePath) throws(GitError) {
        let lock = try IndexLock(path)
        let old = try lock.duplicate()
        let copy = lock.copy
        let index = try Owned("cannot read the index", free: git_index_free) { made in
            copy.withPlatformString { git_index_open(&made, $0) }
        }
        if let old { IndexFile.smudgeRacyEntries(index.pointer, written: old.st_mtim) }
        self.lock = lock
        self.index = index
        self.old = old
    }

    /// - Parameters:
    ///   - stat: the metadata of the file, when its bytes are those of the blob.
    ///   - readAt: the clock of file times (`CLOCK_REALTIME_COARSE`) before the file was read.
    func put(_ path: FilePath, _ blob: TreeEntry, stat: stat?, readAt: timespec) throws(GitError) {
        var entry = git_index_entry()
        entry.id = blob.id.oid
        entry.mode = blob.mode.rawValue
        if let stat {
            entry.ctime = IndexFile.time(stat.st_ctim)
            entry.mtime = IndexFile.time(stat.st_mtim)
            entry.dev = UInt32(truncatingIfNeeded: stat.st_dev)
            entry.ino = UInt32(truncatingIfNeeded: stat.st_ino)
            entry.uid = stat.st_uid
            entry.gid = stat.st_gid
            // A file may change after it was read without getting another time, if it is of the current tick: as
            // below, its missing size makes git look again.
            let settled = IndexFile.isOlder(entry.mtime, than: IndexFile.time(readAt))
            entry.file_size = settled ? UInt32(truncatingIfNeeded: stat.st_size) : 0
        }
        let index = index.pointer
        let code = path.withPlatformString { name in
            git_index_conflict_remove(index, name)
            entry.path = name
            return git_index_add(index, &entry)
        }
        try check(code, "cannot put '\(path)' into the index")
    }

    func remove(_ path: FilePath) throws(GitError) {
        let index = index.pointer
        let code = path.withPlatformString { name in
            git_index_conflict_remove(index, name)
            return git_index_remove(index, name, 0)
        }
        if code != GIT_ENOTFOUND.rawValue { try check(code, "cannot remove '\(path)' from the index") }
    }

    /// Puts the copy into the index's place.
    func commit() throws(GitError) {
        try check(git_index_write(index.pointer), "cannot write the index")
        if let old { _ = lock.copy.withPlatformString { chmod($0, old.st_mode & 0o777) } }
        let moved = lock.copy.withPlatformString { from in lock.index.withPlatformString { rename(from, $0) }
        }
        if moved != 0 { throw .system(Errno(rawValue: errno), "cannot replace the index") }
    }

    /// git reads a file again whose time isn't older than the index's, for it may have changed within the same tick.
    /// A new index is newer than all of them, so such entries lose their size, which makes git read them once more
    /// (Documentation/technical/racy-git).
    private static func smudgeRacyEntries(_ index: OpaquePointer, written: timespec) {
        let written = IndexFile.time(written)
        for position in 0..<git_index_entrycount(index) {
            guard let entry = git_index_get_byindex(index, position) else { continue }
            guard !isOlder(entry.pointee.mtime, than: written), entry.pointee.file_size != 0 else { continue }
            // The entry belongs to our own copy of the index; libgit2 offers it as constant only so that nobody
            // changes its path, by which the entries are sorted.
            UnsafeMutablePointer(mutating: entry).pointee.file_size = 0
        }
    }

    private static func isOlder(_ one: git_index_time, than other: git_index_time) -> Bool {
        (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
    }

    private static func time(_ time: timespec) -> git_index_time {
        git_index_time(
            seconds: Int32(truncatingIfNeeded: time.tv_sec),
            nanoseconds: UInt32(truncatingIfNeeded: time.tv_nsec))
    }
}
