import CLinux
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
        if access(lock.string, F_OK) == 0 { throw Self.locked(lock) }
    }

    /// What stands behind the name of an index in the name of a copy of it, before a number.
    static let suffix = ".passdir-"

    /// The file stays beyond the life of this, for a repair to find.
    func leave() { name.isOurs = false }

    static func locked(_ lock: FilePath) -> GitError {
        GitError(code: .locked, message: "another program holds \(lock)")
    }

    /// Makes the file, empty, for writing.
    func create() throws(GitError) -> Descriptor {
        let made = path.withPlatformString { open($0, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600) }
        guard made >= 0 else { throw .system(Errno(rawValue: errno), "cannot copy the index") }
        return Descriptor(made)
    }

    /// How a copy takes the place of the index.
    enum Way {
        /// The index that was there is gone at once. ext4 brings a file to the disk before it replaces another one.
        case replacing
        /// The index that was there gets the copy's name and stays whole under it, while the new one may not be on the
        /// disk yet. Where the file system cannot do that, or there was no index, nothing is done.
        case exchanging
    }

    /// Puts the copy into the index's place, provided the index is still the one that was copied.
    /// - Returns: false when the file system does not know how.
    func publish(_ way: Way) throws(GitError) -> Bool {
        if let old { _ = path.withPlatformString { chmod($0, old.st_mode & 0o777) } }
        try Self.take(lock, with: path)
        guard isUnchanged else {
            _ = lock.withPlatformString { unlink($0) }
            throw GitError(code: .locked, message: "another program wrote \(index)")
        }
        switch way {
        case .replacing:
            try Self.replace(index, by: lock)
            // Its other name goes now: it changes the metadata by which the index is known again.
            _ = path.withPlatformString { unlink($0) }
            return true
        case .exchanging:
            let moved = path.withPlatformString { from in
                index.withPlatformString {
                    passdir_renameat2(AT_FDCWD, from, AT_FDCWD, $0, PASSDIR_RENAME_EXCHANGE)
                }
            }
            _ = lock.withPlatformString { unlink($0) }
            return moved == 0
        }
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
