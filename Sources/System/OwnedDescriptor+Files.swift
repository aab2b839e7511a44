import CLinux
public import Glibc
public import SystemPackage

extension OwnedDescriptor {
    /// The most bytes that are read of a file whose reader sets no limit: what it says of its size is its writer's word,
    /// and memory that cannot be had would end this process.
    public static let mostRead = 2 << 30

    /// open(2), with O_CLOEXEC.
    ///
    /// - Parameters:
    ///   - folder: where a relative path begins, by its descriptor; this process's folder unless told otherwise.
    ///   - mode: the permissions of a file that is made.
    public init(
        opening path: FilePath, in folder: CInt = AT_FDCWD, _ flags: CInt, mode: mode_t = 0
    ) throws(Errno) {
        let opened = path.withPlatformString { openat(folder, $0, flags | O_CLOEXEC, mode) }
        guard opened >= 0 else { throw .last }
        self.init(opened)
    }

    /// As above; what the system says becomes the error that `failure` makes of it.
    public init<Failure: Error>(
        opening path: FilePath, in folder: CInt = AT_FDCWD, _ flags: CInt, mode: mode_t = 0,
        failure: (Errno) -> Failure
    ) throws(Failure) {
        let opened = path.withPlatformString { openat(folder, $0, flags | O_CLOEXEC, mode) }
        guard opened >= 0 else { throw failure(.last) }
        self.init(opened)
    }

    /// As the first, of what has this name in a folder.
    public init(
        opening name: FilePath.Component, in folder: CInt, _ flags: CInt, mode: mode_t = 0
    ) throws(Errno) {
        try self.init(opening: FilePath(root: nil, components: name), in: folder, flags, mode: mode)
    }

    /// Opens what is looked at for ourselves, and leaves its access time, by which the user sees when a program read it.
    ///
    /// - Parameter open: opens it, with the flag that it is given; called without one where the file is somebody else's, whose
    ///   reader the system does not let do that.
    public static func leavingAccessTime(
        _ open: (_ flag: CInt) throws(Errno) -> OwnedDescriptor
    ) throws(Errno) -> OwnedDescriptor {
        do throws(Errno) {
            return try open(PASSDIR_O_NOATIME)
        } catch .notPermitted {
            return try open(0)
        }
    }

    /// fstat(2).
    public borrowing func facts() throws(Errno) -> stat {
        var facts = stat()
        guard fstat(raw, &facts) == 0 else { throw .last }
        return facts
    }

    /// flock(2): the file stays locked until this is closed.
    ///
    /// - Parameter kind: LOCK_EX or LOCK_SH; with LOCK_NB it does not wait.
    /// - Throws: EWOULDBLOCK when another process has locked it and it is not to be waited for.
    public borrowing func lock(_ kind: CInt = LOCK_EX | LOCK_NB) throws(Errno) {
        while flock(raw, kind) != 0 { guard errno == EINTR else { throw .last } }
    }

    /// F_OFD_SETLKW of fcntl.h, which Swift is not shown.
    private static let waitForLock: CInt = 38

    /// Waits for a lock on one byte of the file, which goes when this is closed: one file serves for many things that are to be
    /// locked apart (fcntl(2), open file description locks).
    public borrowing func lock(byte place: Int64) throws(Errno) {
        var wanted = flock()
        wanted.l_type = Int16(F_WRLCK)
        wanted.l_whence = Int16(SEEK_SET)
        wanted.l_start = off_t(place)
        wanted.l_len = 1
        while fcntl(raw, Self.waitForLock, &wanted) != 0 { guard errno == EINTR else { throw .last } }
    }

    /// Writes all of the bytes.
    public borrowing func writeAll(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(raw, rest.baseAddress, rest.count)
            if count < 0, errno != EINTR { throw .last }
            rest = UnsafeRawBufferPointer(rebasing: rest[max(count, 0)...])
        }
    }

    /// Writes all of the bytes.
    public borrowing func writeAll(_ bytes: [UInt8]) throws(Errno) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Errno) in
            try writeAll(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Everything from where the descriptor stands up to the end.
    ///
    /// - Throws: EFBIG for more than the limit.
    public borrowing func readAll(atMost limit: Int = mostRead) throws(Errno) -> [UInt8] {
        let size = Int(try facts().st_size)
        guard size <= limit else { throw .fileTooLarge }
        // One more, so that the end is seen without another round. Files of /proc say that they are empty.
        var bytes = [UInt8](repeating: 0, count: max(size + 1, 4096))
        var count = 0
        while true {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(raw, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            if got < 0, errno != EINTR { throw .last }
            if got == 0 { break }
            count += max(got, 0)
            guard count <= limit else { throw .fileTooLarge }
            if count == bytes.count { bytes += [UInt8](repeating: 0, count: count) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

extension FilePath {
    /// lstat(2); nil when it fails, with the reason in errno.
    public func facts() -> Glibc.stat? {
        var facts = Glibc.stat()
        return withPlatformString { Glibc.lstat($0, &facts) } == 0 ? facts : nil
    }

    /// stat(2), of what a link leads to; nil when it fails, with the reason in errno.
    public func targetFacts() -> Glibc.stat? {
        var facts = Glibc.stat()
        return withPlatformString { fstatat(AT_FDCWD, $0, &facts, 0) } == 0 ? facts : nil
    }

    /// Whether something is there, or a link leads there.
    public var exists: Bool { withPlatformString { access($0, F_OK) } == 0 }

    /// readlink(2): what a symbolic link holds; nil when it fails, with the reason in errno.
    public var linkTarget: [UInt8]? {
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = target.withUnsafeMutableBytes { bytes in
            withPlatformString {
                readlink($0, bytes.bindMemory(to: CChar.self).baseAddress!, bytes.count)
            }
        }
        return count < 0 ? nil : Array(target[..<count])
    }

    /// unlink(2).
    /// - Returns: whether the name is gone by this call.
    @discardableResult
    public func unlink() -> Bool { withPlatformString { Glibc.unlink($0) } == 0 }

    /// rename(2).
    public func rename(to other: FilePath) throws(Errno) {
        let moved = withPlatformString { from in other.withPlatformString { Glibc.rename(from, $0) } }
        guard moved == 0 else { throw .last }
    }

    /// mkdir(2).
    /// - Returns: false where something has the name already.
    @discardableResult
    public func makeFolder(mode: mode_t = 0o700) throws(Errno) -> Bool {
        if withPlatformString({ mkdir($0, mode) }) == 0 { return true }
        guard errno == EEXIST else { throw .last }
        return false
    }

    /// Makes a folder and what is missing above it; one that exists is left as it is.
    /// - Throws: ENOTDIR where something else is there.
    public func makeFolders(mode: mode_t = 0o700) throws(Errno) {
        guard !isEmpty else { return }
        if let facts = targetFacts() {
            guard facts.kind == .directory else { throw .notDirectory }
            return
        }
        guard errno == ENOENT else { throw .last }
        try removingLastComponent().makeFolders(mode: mode)
        try makeFolder(mode: mode)
    }
}

extension stat {
    /// What kind of thing it is about.
    public var kind: EntryKind { EntryKind(mode: st_mode) }
}

/// What tells one state of a file from another.
public struct FileIdentity: Sendable, Hashable {
    private let numbers: [Int]

    /// From the metadata of stat(2).
    public init(_ facts: stat) {
        numbers = [
            Int(truncatingIfNeeded: facts.st_dev), Int(truncatingIfNeeded: facts.st_ino), facts.st_size,
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec,
        ]
    }
}
