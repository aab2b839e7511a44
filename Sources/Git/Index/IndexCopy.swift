import CLinux
import Glibc
import Synchronization
import System
import SystemPackage

/// Makes the names of copies unique in this process.
private let copyCount = Atomic<UInt64>(0)

/// A changed copy of an index that is to take its place; gone at the end of its life.
///
/// Of a large repository it is a large file, so the disk is waited for only when it is in its place (`synchronize`). Until
/// then the replaced index keeps the copy's name: where a power cut has left a damaged index, it is put back
/// (`Repository.restoreDamagedIndex`), as what the user has staged is nowhere else.
///
/// git's programs do not wait for `index.lock`: a `git add` that meets it fails. So it is not held while the copy is made,
/// nor where the finished copy can change places with the index.
final class IndexCopy {
    /// What stands behind the name of an index in the name of a copy of it, before a number.
    private static let suffix = ".passdir-"

    let index: FilePath
    /// Held open to be known again.
    let file: OwnedDescriptor
    private let source: IndexSource
    /// The name of the copy; once it has changed places with the index, that of the replaced index.
    private let path: FilePath
    private let lock: FilePath
    /// Whether the index may have bytes that are not on the disk.
    private var awaitsDisk = false

    /// - Parameter write: writes the copy.
    /// - Throws: `.locked` when another process holds `index.lock`.
    init(
        of source: IndexSource, _ write: (borrowing OwnedDescriptor) throws(GitError) -> Void
    ) throws(GitError) {
        self.source = source
        index = source.index
        lock = index.withSuffix(".lock")
        guard !lock.exists else { throw Self.locked(lock) }
        let number = copyCount.wrappingAdd(1, ordering: .relaxed).newValue
        path = index.withSuffix("\(Self.suffix)\(getpid())-\(number)")
        file = try OwnedDescriptor(
            opening: path, O_CREAT | O_EXCL | O_RDWR, mode: 0o600,
            failure: GitError.system("cannot copy the index"))
        do throws(GitError) {
            try write(file)
        } catch {
            path.unlink()
            throw error
        }
    }

    deinit {
        // One that did not get onto the disk leaves the replaced one to the next start.
        if !awaitsDisk || (try? file.synchronize()) != nil { path.unlink() }
    }

    private static func locked(_ lock: FilePath) -> GitError {
        GitError(code: .locked, message: "another program holds \(lock)")
    }

    private static func overtaken(_ index: FilePath) -> GitError {
        GitError(code: .locked, message: "another program wrote \(index)")
    }

    /// Puts the copy into the index's place, provided the index is still the one that was copied. The replaced one has the
    /// copy's name until `synchronize`.
    /// - Throws: `.locked`.
    func publish() throws(GitError) {
        if let old = source.facts { _ = fchmod(file.raw, old.st_mode & 0o777) }
        if try exchange() {
            awaitsDisk = true
        } else {
            // Nothing would be left of the replaced one.
            try synchronizeFile()
            try replace()
        }
    }

    /// Brings the published copy onto the disk; the replaced index goes then.
    func synchronize() throws(GitError) {
        if awaitsDisk {
            try synchronizeFile()
            awaitsDisk = false
        }
        path.unlink()
    }

    private func synchronizeFile() throws(GitError) {
        try GitError.wrapping("cannot write the index", file.synchronize())
    }

    /// No lock is there at any moment: who holds `index.lock` is respected, and who takes it meanwhile has what we did
    /// taken back. That is for a `git add` of the user, which fails when it meets a lock; a thread that is suspended in
    /// the wrong microsecond holds one for a hundredth of a second.
    /// - Returns: false, with nothing done, where the file system cannot exchange two files, or there was no index.
    private func exchange() throws(GitError) -> Bool {
        guard let old = source.facts, let own = path.facts() else { return false }
        if lock.exists { throw Self.locked(lock) }
        guard source.isCurrent else { throw Self.overtaken(index) }
        guard swap() else { return false }
        // It was written since the look: what was written goes back.
        guard let replaced = path.facts(), replaced.isSameContent(as: old) else {
            takeBack(own)
            throw Self.overtaken(index)
        }
        // Who has the lock now may have read what was there before, and would bring it back.
        guard !lock.exists, let new = index.facts(), new.isSameContent(as: own) else {
            takeBack(own)
            throw Self.overtaken(index)
        }
        return true
    }

    /// As `exchange`, but under the lock: where files cannot be exchanged. The lock is a second name of the copy, and
    /// becomes the index.
    private func replace() throws(GitError) {
        try Self.replace(source, by: path)
    }

    private static func replace(_ source: IndexSource, by path: FilePath) throws(GitError) {
        let index = source.index
        let lock = index.withSuffix(".lock")
        let isTaken = path.withPlatformString { from in lock.withPlatformString { link(from, $0) } } == 0
        guard isTaken else {
            throw errno == EEXIST ? locked(lock) : .system(.last, "cannot lock the index")
        }
        guard source.isCurrent else {
            lock.unlink()
            throw overtaken(index)
        }
        do throws(Errno) {
            try lock.rename(to: index)
        } catch {
            lock.unlink()
            throw .system(error, "cannot replace the index")
        }
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
        guard let now = index.facts(), now.isSameContent(as: own), swap() else { return }
        // Written in between: that belongs there.
        if let back = path.facts(), !back.isSameContent(as: own) { _ = swap() }
    }

    // MARK: what a killed process has left

    /// Removes the copies of an index that lie beside it, whosever they are.
    static func removeLeft(of index: FilePath) {
        let copies = left(of: index)
        guard !copies.isEmpty else { return }
        // One of them may be what it replaced, and it may have been put there a moment before.
        if let opened = try? OwnedDescriptor(opening: index, O_RDONLY), (try? opened.synchronize()) == nil {
            return
        }
        for copy in copies { copy.unlink() }
    }

    /// Puts the newest sound copy that lies beside a damaged index into its place.
    /// - Returns: false where the index is not damaged, or there is no such copy.
    /// - Throws: `.locked` when another process holds `index.lock` or has written the index meanwhile.
    static func restore(_ index: FilePath) throws(GitError) -> Bool {
        guard index.exists else { return false }
        let source = try IndexSource.read(index)
        guard source.isDamaged else { return false }
        let copies = left(of: index).compactMap { path in path.facts().map { (path: path, facts: $0) } }
            .filter { $0.facts.kind == .regular && $0.facts.st_uid == geteuid() }
            .sorted { IndexTime($0.facts.st_ctim) > IndexTime($1.facts.st_ctim) }
        for copy in copies {
            guard let read = try? IndexSource.read(copy.path), !read.isDamaged else { continue }
            try replace(source, by: copy.path)
            copy.path.unlink()
            return true
        }
        return false
    }

    /// Removes a lock of ours that a killed process has left: it is a second name of the index, or of a copy of it.
    /// Another program's is a file of its own, whenever it was made.
    static func removeLeftLock(of index: FilePath) {
        let lock = index.withSuffix(".lock")
        guard let held = lock.facts(), held.st_uid == geteuid(), held.st_nlink > 1 else { return }
        let isOurs = ([index] + left(of: index)).contains { other in
            other.facts().map { $0.st_ino == held.st_ino && $0.st_dev == held.st_dev } ?? false
        }
        if isOurs { lock.unlink() }
    }

    private static func left(of index: FilePath) -> [FilePath] {
        guard let name = index.lastComponent?.string else { return [] }
        let folder = index.removingLastComponent()
        return DirectoryStream.names(in: folder).filter { $0.hasPrefix(name + suffix) }
            .map { folder.appending($0) }
    }
}

extension IndexSource {
    /// Whether the index is still the one that was read, or is still not there.
    var isCurrent: Bool {
        guard let now = index.facts() else { return facts == nil && errno == ENOENT }
        return facts.map { FileIdentity($0) == FileIdentity(now) } ?? false
    }

    /// Whether it is cut short, or holds what no git has written. Good for one look: it changes what is in memory.
    fileprivate var isDamaged: Bool {
        do throws(GitError) {
            // Before the entries are walked over, which changes them.
            let isWhole = try withBytes { (bytes) throws(GitError) -> Bool in
                if IndexChecksum.isAbsent(bytes) { return true }
                return try IndexChecksum.matches(bytes)
            }
            _ = try IndexPatch(writable, written: facts.map { IndexTime($0.st_mtim) } ?? IndexTime(), [])
            return !isWhole
        } catch {
            return error.code == .corrupt
        }
    }
}

extension Repository {
    /// Removes the copies of the index that a process which no longer runs has left.
    public func removeIndexCopies() {
        IndexCopy.removeLeft(of: gitDirectory.appending("index"))
    }

    /// Puts back what the last change of the index replaced, where a power cut has left the new one damaged. A sound index
    /// stays, whatever lies beside it. Call it when a process of ours was killed while it changed the index, and before
    /// the index is written again.
    /// - Returns: whether it was damaged and there was something to put back.
    /// - Throws: `.locked` when another process holds `index.lock` or has written the index meanwhile.
    public func restoreDamagedIndex() throws(GitError) -> Bool {
        try IndexCopy.restore(gitDirectory.appending("index"))
    }
}

extension stat {
    /// Whether two looks saw the same bytes. A rename changes ctime, so that does not count.
    func isSameContent(as other: stat) -> Bool {
        st_ino == other.st_ino && st_size == other.st_size && st_mtim.tv_sec == other.st_mtim.tv_sec
            && st_mtim.tv_nsec == other.st_mtim.tv_nsec
    }
}
