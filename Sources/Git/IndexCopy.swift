import CLinux
import Glibc
import Synchronization
import System
import SystemPackage

/// Makes the names of copies unique in this process.
private let copyCount = Atomic<UInt64>(0)

/// A changed copy of the index that is to take its place; gone at the end of its life.
///
/// git's programs do not wait for `index.lock`: a `git add` that meets it fails. So it is not held while the copy is made
/// and changed, nor where the finished copy can change places with the index.
struct IndexCopy: ~Copyable {
    let index: FilePath
    /// The name of the copy; once it has changed places with the index, that of the replaced index.
    let path: FilePath
    private let name: OwnName
    private let lock: FilePath
    /// The metadata of the index that was copied; nil when there was none.
    let old: stat?

    /// - Throws: `.locked` when another process holds `index.lock`.
    init(of index: FilePath, old: stat?) throws(GitError) {
        self.index = index
        self.old = old
        lock = index.withSuffix(".lock")
        let number = copyCount.wrappingAdd(1, ordering: .relaxed).newValue
        path = index.withSuffix("\(Self.suffix)\(getpid())-\(number)")
        name = OwnName(path)
        if isLocked { throw Self.locked(lock) }
    }

    /// What stands behind the name of an index in the name of a copy of it, before a number.
    static let suffix = ".passdir-"

    /// The file stays beyond the life of this, for a repair to find.
    func leave() { name.isOurs = false }

    /// Removes what has the copy's name.
    func remove() { _ = path.withPlatformString { unlink($0) } }

    static func locked(_ lock: FilePath) -> GitError {
        GitError(code: .locked, message: "another program holds \(lock)")
    }

    /// Makes the file, empty, for writing.
    func create() throws(GitError) -> OwnedDescriptor {
        try GitError.wrapping(
            "cannot copy the index", OwnedDescriptor(opening: path, O_CREAT | O_EXCL | O_RDWR, mode: 0o600))
    }

    /// Puts the copy into the index's place, provided the index is still the one that was copied. The replaced index lies
    /// where the copy was, whole, until the end of this value's life: the new one may not be on the disk yet.
    ///
    /// No lock is there at any moment: who holds `index.lock` is respected, and who takes it meanwhile has what we did
    /// taken back. That is for a `git add` of the user, which fails when it meets a lock; a thread that is suspended in
    /// the wrong microsecond holds one for a hundredth of a second.
    /// - Returns: false, with nothing done, where the file system cannot exchange two files, or there was no index.
    /// - Throws: `.locked`.
    func exchange() throws(GitError) -> Bool {
        guard let old, let own = Self.facts(of: path) else { return false }
        _ = path.withPlatformString { chmod($0, old.st_mode & 0o777) }
        if isLocked { throw Self.locked(lock) }
        guard isUnchanged else { throw overtaken }
        guard swap() else { return false }
        // It was written since the look: what was written goes back.
        guard let replaced = Self.facts(of: path), replaced.isSameContent(as: old) else {
            takeBack(own)
            throw overtaken
        }
        // Who has the lock now may have read what was there before, and would bring it back.
        guard !isLocked, let new = Self.facts(of: index), new.isSameContent(as: own) else {
            takeBack(own)
            throw overtaken
        }
        return true
    }

    /// As `exchange`, but under the lock, and the index that was there is gone at once: where files cannot be exchanged.
    /// ext4 brings a file to the disk before it replaces another one.
    func replace() throws(GitError) {
        if let old { _ = path.withPlatformString { chmod($0, old.st_mode & 0o777) } }
        try Self.take(lock, with: path)
        guard isUnchanged else {
            _ = lock.withPlatformString { unlink($0) }
            throw overtaken
        }
        try Self.replace(index, by: lock)
        // Its other name goes now: it changes the metadata by which the index is known again.
        remove()
    }

    private func swap() -> Bool {
        path.withPlatformString { from in
            index.withPlatformString {
                passdir_renameat2(AT_FDCWD, from, AT_FDCWD, $0, PASSDIR_RENAME_EXCHANGE)
            }
        } == 0
    }

    /// Puts back what lies where the copy was, while the index is the copy.
    private func takeBack(_ own: stat) {
        guard let now = Self.facts(of: index), now.isSameContent(as: own), swap() else { return }
        // Written in between: that belongs there.
        if let back = Self.facts(of: path), !back.isSameContent(as: own) { _ = swap() }
    }

    private var isLocked: Bool { lock.withPlatformString { access($0, F_OK) } == 0 }

    private var overtaken: GitError {
        GitError(code: .locked, message: "another program wrote \(index)")
    }

    private static func facts(of path: FilePath) -> stat? {
        var facts = stat()
        return path.withPlatformString { lstat($0, &facts) } == 0 ? facts : nil
    }

    /// Makes the lock, a second name of the file that is to become the index.
    static func take(_ lock: FilePath, with copy: FilePath) throws(GitError) {
        let linked = copy.withPlatformString { from in lock.withPlatformString { link(from, $0) } }
        guard linked != 0 else { return }
        guard errno == EEXIST else { throw .system(Errno(rawValue: errno), "cannot lock the index") }
        throw locked(lock)
    }

    /// The lock becomes the index.
    static func replace(_ index: FilePath, by lock: FilePath) throws(GitError) {
        let moved = lock.withPlatformString { from in index.withPlatformString { rename(from, $0) } }
        guard moved != 0 else { return }
        let error = Errno(rawValue: errno)
        _ = lock.withPlatformString { unlink($0) }
        throw .system(error, "cannot replace the index")
    }

    private var isUnchanged: Bool {
        var now = stat()
        guard index.withPlatformString({ stat($0, &now) }) == 0 else { return old == nil && errno == ENOENT }
        guard let old else { return false }
        return FileIdentity(now) == FileIdentity(old)
    }
}

/// The name of a file that goes with it at the end of its life.
private final class OwnName {
    private let path: FilePath
    var isOurs = true

    init(_ path: FilePath) {
        self.path = path
    }

    deinit {
        if isOurs { _ = path.withPlatformString { unlink($0) } }
    }
}

extension stat {
    /// Whether two looks saw the same bytes. A rename changes ctime, so that does not count.
    func isSameContent(as other: stat) -> Bool {
        st_ino == other.st_ino && st_size == other.st_size && st_mtim.tv_sec == other.st_mtim.tv_sec
            && st_mtim.tv_nsec == other.st_mtim.tv_nsec
    }
}
