import CLinux
import Glibc
import System
import SystemPackage

/// `FILE.lock`, held, and the copy that is edited under it; both are gone at the end of its life.
private struct ConfigLock: ~Copyable {
    let copy: FilePath
    private let lock: FilePath
    private let held: Int32
    private static let mark = Array("# passdir\n".utf8)

    init(_ target: FilePath) throws(ConfigFileError) {
        let lock = target.withSuffix(".lock")
        var held = ConfigLock.make(lock)
        var failure = errno
        if held < 0, failure == EEXIST, ConfigLock.isLeft(lock) {
            _ = lock.withPlatformString { unlink($0) }
            held = ConfigLock.make(lock)
            failure = errno
        }
        guard held >= 0 else {
            let error = Errno(rawValue: failure)
            let locked = error == .fileExists
            throw ConfigFileError(
                code: locked ? .locked : .other,
                message: locked ? "another program holds \(lock)" : "cannot be written: \(error)",
                file: target)
        }
        self.held = held
        self.lock = lock
        copy = target.withSuffix(".new")
    }

    /// Makes the lock, held. Git's own locks begin with what will be the file; ours say whose they are and stay locked
    /// (flock(2)) while their process lives, so that one that a killed process left is known. It has a name only once it
    /// says so.
    /// - Returns: -1, with the reason in errno.
    private static func make(_ lock: FilePath) -> Int32 {
        let folder = lock.removingLastComponent()
        let nameless = (folder.isEmpty ? "." : folder).withPlatformString {
            open($0, PASSDIR_O_TMPFILE | O_WRONLY | O_CLOEXEC, 0o600)
        }
        if nameless >= 0 {
            _ = flock(nameless, LOCK_EX | LOCK_NB)
            _ = Glibc.write(nameless, mark, mark.count)
            let named = lock.withPlatformString {
                linkat(AT_FDCWD, "/proc/self/fd/\(nameless)", AT_FDCWD, $0, AT_SYMLINK_FOLLOW)
            }
            if named == 0 { return nameless }
            let failure = errno
            close(nameless)
            errno = failure
            if failure == EEXIST { return -1 }
        }
        // A file system that has no files without a name.
        let held = lock.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600) }
        guard held >= 0 else { return -1 }
        _ = flock(held, LOCK_EX | LOCK_NB)
        _ = Glibc.write(held, mark, mark.count)
        return held
    }

    /// Whether a lock is one of ours whose process is gone; one without a word was left before it could say so.
    private static func isLeft(_ lock: FilePath) -> Bool {
        let opened = lock.withPlatformString { open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard opened >= 0 else { return false }
        defer { close(opened) }
        var facts = stat()
        guard flock(opened, LOCK_SH | LOCK_NB) == 0, fstat(opened, &facts) == 0 else { return false }
        if facts.st_size == 0 { return facts.st_mtim.tv_sec < time(nil) - 10 }
        return (try? ConfigReplacement.bytes(of: lock)) == mark
    }

    /// Puts other content into the copy.
    func write(_ content: [UInt8]) throws(ConfigFileError) {
        _ = copy.withPlatformString { unlink($0) }
        do {
            let opened = copy.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600) }
            guard opened >= 0 else { throw Errno(rawValue: errno) }
            let descriptor = FileDescriptor(rawValue: opened)
            try descriptor.closeAfter { _ = try descriptor.writeAll(content) }
        } catch {
            throw ConfigFileError(code: .other, message: "cannot be written: \(error)", file: copy)
        }
    }

    deinit {
        _ = copy.withPlatformString { unlink($0) }
        _ = lock.withPlatformString { unlink($0) }
        close(held)
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
        try ConfigReplacement.makeFolders(path.removingLastComponent(), path)
        let target = (try? path.resolvingLinks()) ?? path
        let lock = try ConfigLock(target)
        var status = stat()
        let there = target.withPlatformString { fstatat(AT_FDCWD, $0, &status, 0) } == 0
        let permissions = there ? status.st_mode & 0o777 : 0o600
        // libgit2's lock of a copy that a killed process left.
        _ = lock.copy.withSuffix(".lock").withPlatformString { unlink($0) }
        try lock.write(try ConfigReplacement.bytes(of: target) ?? [])
        self.target = target
        self.lock = lock
        self.permissions = permissions
    }

    /// Puts other content into the copy.
    func write(_ content: [UInt8]) throws(ConfigFileError) {
        try lock.write(content)
    }

    /// Makes the copy durable and renames it over the file.
    func commit() throws(ConfigFileError) {
        do {
            try ConfigReplacement.sync(copy, permissions)
            let moved = copy.withPlatformString { from in target.withPlatformString { rename(from, $0) } }
            if moved != 0 { throw Errno(rawValue: errno) }
            try ConfigReplacement.sync(target.removingLastComponent(), nil)
        } catch {
            throw ConfigFileError(code: .other, message: "cannot be written: \(error)", file: target)
        }
    }

    /// The content of a file; nil when there is none.
    static func bytes(of path: FilePath) throws(ConfigFileError) -> [UInt8]? {
        let opened = path.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        if opened < 0, errno == ENOENT { return nil }
        guard opened >= 0 else {
            let error = Errno(rawValue: errno)
            throw ConfigFileError(code: .other, message: "cannot be read: \(error)", file: path)
        }
        do {
            return try OwnedDescriptor(opened).readAll(expecting: 4096, path)
        } catch {
            throw ConfigFileError(code: .other, message: error.message, file: path)
        }
    }

    private static func sync(_ path: FilePath, _ permissions: mode_t?) throws(Errno) {
        let place = path.isEmpty ? FilePath(".") : path
        let opened = place.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        guard opened >= 0 else { throw Errno(rawValue: errno) }
        let descriptor = OwnedDescriptor(opened)
        if let permissions, fchmod(descriptor.raw, permissions) != 0 { throw Errno(rawValue: errno) }
        try descriptor.synchronize()
    }

    private static func makeFolders(_ folder: FilePath, _ file: FilePath) throws(ConfigFileError) {
        guard !folder.isEmpty, folder.withPlatformString({ access($0, F_OK) }) != 0 else { return }
        try makeFolders(folder.removingLastComponent(), file)
        if folder.withPlatformString({ mkdir($0, 0o700) }) != 0, errno != EEXIST {
            let error = Errno(rawValue: errno)
            throw ConfigFileError(
                code: .other, message: "cannot make the folder \(folder): \(error)", file: file)
        }
    }
}
