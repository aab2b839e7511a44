import CGit
import Glibc
import Synchronization
import System
import SystemPackage

/// Makes the names of locks unique in this process.
private let lockCount = Atomic<UInt64>(0)

/// The lock of a reference (`refs/heads/main.lock`), with the new value in it.
///
/// libgit2's lock of a killed process looks like anybody's, and whoever takes away another program's lock lets two
/// write at once. So a lock of ours is the second name of a file that says whose it is, `passdir-ref-PID-NUMBER` in the
/// git folder, which its process holds locked (flock(2)): what a killed one left is known by the inode.
struct BranchLock: ~Copyable {
    private static let prefix = "passdir-ref-"

    private let file: FilePath
    private let lock: FilePath
    private let own: FilePath
    private let descriptor: OwnedDescriptor
    private let names: LockNames

    /// Writes the lock, durably, under its own name only: nobody is locked out yet.
    init(_ ref: String, writing value: ObjectID, _ repository: Repository) throws(GitError) {
        let common = repository.commonDirectory
        let own = common.appending(
            "\(Self.prefix)\(getpid())-\(lockCount.wrappingAdd(1, ordering: .relaxed).newValue)")
        let doing = "cannot lock \(ref)"
        let descriptor = try OwnedDescriptor(
            opening: own, O_CREAT | O_EXCL | O_RDWR, mode: 0o666, failure: GitError.system(doing))
        let names = LockNames(own)
        try? descriptor.lock()
        try GitError.wrapping(doing, descriptor.writeAll(Array((value.hex + "\n").utf8)))
        try GitError.wrapping(doing, descriptor.synchronize())
        file = common.pushing(FilePath(ref))
        lock = file.withSuffix(".lock")
        self.own = own
        self.names = names
        self.descriptor = descriptor
    }

    /// Locks the reference.
    /// - Throws: `.locked` when another process holds the lock.
    /// - Returns: false where there is no folder for the reference yet, and where the file system has no second names.
    func take() throws(GitError) -> Bool {
        if own.withPlatformString({ from in lock.withPlatformString { link(from, $0) } }) != 0 {
            guard errno == EEXIST else { return false }
            throw GitError(code: .locked, message: "another program holds \(lock)")
        }
        names.lock = lock
        return true
    }

    /// Lets others lock the reference until it is taken again.
    func giveBack() {
        names.lock?.unlink()
        names.lock = nil
    }

    /// Puts the new value in place, durably.
    /// - Returns: false, with nothing changed, where something else than a file has the name.
    consuming func commit() throws(GitError) -> Bool {
        guard (try? lock.rename(to: file)) != nil else { return false }
        names.lock = nil
        OwnedDescriptor.synchronize(folder: file.removingLastComponent())
        return true
    }

    /// Removes the locks that killed processes of passdir have left in a repository.
    static func removeLeft(in repository: Repository) {
        let common = repository.commonDirectory
        for name in DirectoryStream.names(in: common) where name.hasPrefix(prefix) {
            let own = common.appending(name)
            guard let descriptor = try? OwnedDescriptor(opening: own, O_RDONLY | O_NOFOLLOW),
                (try? descriptor.lock()) != nil, let facts = try? descriptor.facts(),
                facts.st_uid == geteuid(), facts.st_mode & S_IFMT == S_IFREG
            else { continue }
            if facts.st_nlink > 1 { removeNames(of: facts, below: common.appending("refs"), depth: 0) }
            own.unlink()
        }
    }

    /// Removes the `.lock` that is the same file, wherever below a folder it lies.
    private static func removeNames(of facts: stat, below folder: FilePath, depth: Int) {
        guard depth < 32 else { return }
        for name in DirectoryStream.names(in: folder) {
            let path = folder.appending(name)
            guard let found = path.facts() else { continue }
            if found.st_mode & S_IFMT == S_IFDIR {
                removeNames(of: facts, below: path, depth: depth + 1)
            } else if name.hasSuffix(".lock"), found.st_ino == facts.st_ino, found.st_dev == facts.st_dev {
                path.unlink()
            }
        }
    }
}

extension Repository {
    /// Removes the locks of index and references that killed processes of passdir have left, and no others: each is
    /// another name of a file of ours. Also what they have kept from `git gc`. Call it when no other passdir is at work
    /// in the repository.
    public func removeLeftLocks() {
        removeLeftReferenceLocks()
        KeptPack.removeLeft(in: self)
        IndexCopy.removeLeftLock(of: gitDirectory.appending("index"))
    }

    /// As `removeLeftLocks`, for references only; at any time.
    public func removeLeftReferenceLocks() {
        BranchLock.removeLeft(in: self)
    }
}

/// The names of a lock's file, which go at the end of its life.
private final class LockNames {
    private let own: FilePath
    /// The lock, while it is one.
    var lock: FilePath?

    init(_ own: FilePath) {
        self.own = own
    }

    deinit {
        // The name that says whose it is goes last.
        lock?.unlink()
        own.unlink()
    }
}
