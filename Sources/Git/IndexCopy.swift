import Glibc
import Synchronization
import SystemPackage

/// Makes the names of copies unique in this process.
private let copyCount = Atomic<UInt64>(0)

/// A changed copy of the index that is to take its place; gone at the end of its life.
///
/// git's programs do not wait for `index.lock`: a `git add` that meets it fails. So the lock is not held while the
/// copy is made and changed, only for the moment in which the finished copy takes the index's place.
struct IndexCopy: ~Copyable {
    let index: FilePath
    let path: FilePath
    private let lock: FilePath
    /// The metadata of the index that was copied; nil when there was none.
    let old: stat?

    /// - Throws: `.locked` when another process holds `index.lock`.
    init(of index: FilePath, old: stat?) throws(GitError) {
        self.index = index
        self.old = old
        lock = index.withSuffix(".lock")
        let number = copyCount.wrappingAdd(1, ordering: .relaxed).newValue
        path = index.withSuffix(".passdir-\(getpid())-\(number)")
        if access(lock.string, F_OK) == 0 { throw Self.locked(lock) }
    }

    deinit {
        _ = path.withPlatformString { unlink($0) }
    }

    private static func locked(_ lock: FilePath) -> GitError {
        GitError(code: .locked, message: "another program holds \(lock)")
    }

    /// Makes the file, empty, for writing.
    func create() throws(GitError) -> Descriptor {
        let made = path.withPlatformString { open($0, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600) }
        guard made >= 0 else { throw .system(Errno(rawValue: errno), "cannot copy the index") }
        return Descriptor(made)
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
        // Its other name goes now: it changes the metadata by which the index is known again.
        _ = path.withPlatformString { unlink($0) }
    }

    private var isUnchanged: Bool {
        var now = stat()
        guard index.withPlatformString({ stat($0, &now) }) == 0 else { return old == nil && errno == ENOENT }
        guard let old else { return false }
        return FileIdentity(now) == FileIdentity(old)
    }
}

/// What tells one state of a file from another.
struct FileIdentity: Equatable {
    private let numbers: [Int]

    init(_ facts: stat) {
        numbers = [
            Int(truncatingIfNeeded: facts.st_dev), Int(truncatingIfNeeded: facts.st_ino), facts.st_size,
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec,
        ]
    }
}
