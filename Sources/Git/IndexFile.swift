import CGit
import Glibc
import Synchronization
import SystemPackage

/// Makes the names of copies unique in this process.
private let copyCount = Atomic<UInt64>(0)

/// A copy of the index that is worked on; gone at the end of its life.
///
/// git's programs do not wait for `index.lock`: a `git add` that meets it fails. So the lock is not held while the
/// copy is made and changed, only for the moment in which the finished copy takes the index's place.
private struct IndexCopy: ~Copyable {
    let index: FilePath
    let path: FilePath
    private let lock: FilePath
    /// The metadata of the index that was copied; nil when there was none.
    let old: stat?

    init(_ index: FilePath) throws(GitError) {
        self.index = index
        lock = index.withSuffix(".lock")
        let number = copyCount.wrappingAdd(1, ordering: .relaxed).newValue
        path = index.withSuffix(".passdir-\(getpid())-\(number)")
        if access(lock.string, F_OK) == 0 { throw Self.locked(lock) }
        old = try Self.duplicate(index, to: path)
    }

    deinit {
        _ = path.withPlatformString { unlink($0) }
    }

    private static func locked(_ lock: FilePath) -> GitError {
        GitError(code: .locked, message: "another program holds \(lock)")
    }

    private static func duplicate(_ index: FilePath, to copy: FilePath) throws(GitError) -> stat? {
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

    /// Puts the copy into the index's place, provided the index is still the one that was copied.
    func publish() throws(GitError) {
        if let old { _ = path.withPlatformString { chmod($0, old.st_mode & 0o777) } }
        let linked = path.withPlatformString { from in lock.withPlatformString { link(from, $0) } }
        if linked != 0 {
            guard errno == EEXIST else {
                throw .system(Errno(rawValue: errno), "cannot lock the index")
            }
            throw Self.locked(lock)
        }
        guard isUnchanged else {
            _ = lock.withPlatformString { unlink($0) }
            throw GitError(code: .locked, message: "another program wrote \(index)")
        }
        let moved = lock.withPlatformString { from in index.withPlatformString { rename(from, $0) } }
        if moved != 0 {
            let error = Errno(rawValue: errno)
            _ = lock.withPlatformString { unlink($0) }
            throw .system(error, "cannot replace the index")
        }
    }

    private var isUnchanged: Bool {
        var now = stat()
        guard index.withPlatformString({ stat($0, &now) }) == 0 else { return old == nil && errno == ENOENT }
        guard let old else { return false }
        return now.st_ino == old.st_ino && now.st_size == old.st_size
            && now.st_mtim.tv_sec == old.st_mtim.tv_sec && now.st_mtim.tv_nsec == old.st_mtim.tv_nsec
            && now.st_ctim.tv_sec == old.st_ctim.tv_sec && now.st_ctim.tv_nsec == old.st_ctim.tv_nsec
    }
}

/// The index, worked on as a copy that replaces it at once. libgit2 locks only while it writes, which would lose what
/// another process stages between its read and its write; so it works on the copy.
struct IndexFile: ~Copyable {
    private let copy: IndexCopy
    private let index: Owned

    init(_ path: FilePath) throws(GitError) {
        let copy = try IndexCopy(path)
        let place = copy.path
        let index = try Owned("cannot read the index", free: git_index_free) { made in
            place.withPlatformString { git_index_open(&made, $0) }
        }
        if let old = copy.old { IndexFile.smudgeRacyEntries(index.pointer, written: old.st_mtim) }
        self.copy = copy
        self.index = index
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
        try copy.publish()
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
