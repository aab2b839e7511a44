import CLinux
import Glibc
import System
import SystemPackage

/// `FILE.lock`, held, and the copy that is edited under it; both are gone at the end of its life.
private struct ConfigLock: ~Copyable {
    let copy: FilePath
    private let lock: FilePath
    private let held: OwnedDescriptor
    private static let mark = Array("# passdir\n".utf8)

    init(_ target: FilePath) throws(ConfigFileError) {
        let lock = target.withSuffix(".lock")
        do throws(Errno) {
            held = try ConfigLock.make(lock)
        } catch {
            guard error == .fileExists else { throw ConfigFileError.unwritable(target)(error) }
            let locked = ConfigFileError(
                code: .locked, message: "another program holds \(lock)", file: target)
            guard ConfigLock.isLeft(lock) else { throw locked }
            lock.unlink()
            do throws(Errno) { held = try ConfigLock.make(lock) } catch { throw locked }
        }
        self.lock = lock
        copy = target.withSuffix(".new")
    }

    /// Makes the lock, held. Git's own locks begin with what will be the file; ours say whose they are and stay locked
    /// (flock(2)) while their process lives, so that one that a killed process left is known. It has a name only once it
    /// says so.
    private static func make(_ lock: FilePath) throws(Errno) -> OwnedDescriptor {
        let folder = lock.removingLastComponent()
        if let nameless = try? OwnedDescriptor(
            opening: folder.isEmpty ? "." : folder, PASSDIR_O_TMPFILE | O_WRONLY, mode: 0o600)
        {
            hold(nameless)
            let named = lock.withPlatformString {
                linkat(AT_FDCWD, "/proc/self/fd/\(nameless.raw)", AT_FDCWD, $0, AT_SYMLINK_FOLLOW)
            }
            if named == 0 { return nameless }
            if errno == EEXIST { throw .fileExists }
        }
        // A file system that has no files without a name.
        let held = try OwnedDescriptor(opening: lock, O_CREAT | O_EXCL | O_WRONLY, mode: 0o600)
        hold(held)
        return held
    }

    private static func hold(_ lock: borrowing OwnedDescriptor) {
        try? lock.lock()
        try? lock.writeAll(mark)
    }

    /// Whether a lock is one of ours whose process is gone; one without a word was left before it could say so.
    private static func isLeft(_ lock: FilePath) -> Bool {
        guard let opened = try? OwnedDescriptor(opening: lock, O_RDONLY | O_NOFOLLOW),
            (try? opened.lock(LOCK_SH | LOCK_NB)) != nil, let facts = try? opened.facts()
        else { return false }
        if facts.st_size == 0 { return facts.st_mtim.tv_sec < time(nil) - 10 }
        return (try? opened.readAll()) == mark
    }

    /// Puts other content into the copy.
    func write(_ content: [UInt8]) throws(ConfigFileError) {
        copy.unlink()
        let file = try OwnedDescriptor(
            opening: copy, O_CREAT | O_EXCL | O_WRONLY, mode: 0o600, failure: ConfigFileError.unwritable(copy)
        )
        try rethrowing(file.writeAll(content), ConfigFileError.unwritable(copy))
    }

    deinit {
        copy.unlink()
        lock.unlink()
    }
}

/// A configuration file's successor: edited beside it under `FILE.lock`, as git locks it, then renamed over it.
struct ConfigReplacement: ~Copyable {
    /// The file itself, or what a symbolic link there leads to.
    private let target: FilePath
    private let lock: ConfigLock
    private let permissions: mode_t

    /// The private copy (0600) that the edits go to.
    var copy: FilePath { lock.copy }

    init(of path: FilePath) throws(ConfigFileError) {
        let folder = path.removingLastComponent()
        try rethrowing(folder.makeFolders()) { (error: Errno) in
            ConfigFileError(code: .other, message: "cannot create the folder \(folder): \(error)", file: path)
        }
        let target = (try? path.resolvingLinks()) ?? path
        let lock = try ConfigLock(target)
        let mode = target.targetFacts().map { $0.st_mode & 0o777 } ?? 0o600
        // libgit2's lock of a copy that a killed process left.
        lock.copy.withSuffix(".lock").unlink()
        try lock.write(try ConfigReplacement.bytes(of: target) ?? [])
        self.target = target
        self.lock = lock
        permissions = mode
    }

    /// Puts other content into the copy.
    func write(_ content: [UInt8]) throws(ConfigFileError) {
        try lock.write(content)
    }

    /// Makes the copy durable and renames it over the file.
    func commit() throws(ConfigFileError) {
        try rethrowing(replace(), ConfigFileError.unwritable(target))
    }

    private func replace() throws(Errno) {
        let file = try OwnedDescriptor(opening: copy, O_RDONLY)
        guard fchmod(file.raw, permissions) == 0 else { throw .last }
        try file.synchronize()
        try copy.rename(to: target)
        let folder = target.removingLastComponent()
        try OwnedDescriptor(opening: folder.isEmpty ? "." : folder, O_RDONLY).synchronize()
    }

    /// The content of a file; nil when there is none.
    static func bytes(of path: FilePath) throws(ConfigFileError) -> [UInt8]? {
        do throws(Errno) {
            return try OwnedDescriptor(opening: path, O_RDONLY).readAll()
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw ConfigFileError(code: .other, message: "cannot be read: \(error)", file: path)
        }
    }
}

extension ConfigFileError {
    fileprivate static func unwritable(_ file: FilePath) -> (Errno) -> ConfigFileError {
        { ConfigFileError(code: .other, message: "cannot be written: \($0)", file: file) }
    }
}
