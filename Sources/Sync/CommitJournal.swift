import Glibc
import SystemPackage

/// A note in the git folder that a commit of ours is on its way: written before the branch moves, removed when the
/// index is in step.
///
/// After a crash it tells which paths of the index are behind, and that locks which nobody holds open are ours. While
/// the commit goes on the note is locked: that ends with the process, where a process id would live on in a zombie
/// or, after a restart, in somebody else.
final class CommitJournal {
    private static let name: FilePath.Component = "passdir-commit"

    let file: FilePath
    private var held: FileDescriptor?

    init(gitDirectory: FilePath) {
        file = gitDirectory.appending(Self.name)
    }

    deinit { try? held?.close() }

    /// Notes the paths, relative to the top of the repository. Durable on return.
    func write(_ paths: [FilePath]) throws(Errno) {
        var bytes: [UInt8] = []
        for path in paths {
            path.withPlatformString { bytes += UnsafeRawBufferPointer(start: $0, count: strlen($0)) }
            bytes.append(0)
        }
        do {
            let descriptor = try FileDescriptor.open(
                file, .writeOnly, options: [.create, .closeOnExec, .noFollow], permissions: .ownerReadWrite)
            try? held?.close()
            held = descriptor
            guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0, ftruncate(descriptor.rawValue, 0) == 0
            else {
                throw Errno(rawValue: errno)
            }
            _ = try descriptor.writeAll(bytes)
            guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    func remove() {
        _ = file.withPlatformString { unlink($0) }
        try? held?.close()
        held = nil
    }

    /// The paths that were noted for a commit which no process works at any more, and when that was; nil when there
    /// is nothing to mend.
    func left() -> (paths: [FilePath], time: Int)? {
        guard let descriptor = try? FileDescriptor.open(file, .readOnly, options: [.closeOnExec, .noFollow])
        else {
            return nil
        }
        defer { try? descriptor.close() }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else { return nil }
        var facts = stat()
        guard fstat(descriptor.rawValue, &facts) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        let count = (try? bytes.withUnsafeMutableBytes { try descriptor.read(into: $0) }) ?? 0
        let paths = bytes[..<count].split(separator: 0).map { path in
            FilePath(platformString: path.map { CChar(bitPattern: $0) } + [0])
        }
        return (paths, facts.st_mtim.tv_sec)
    }

    /// Removes lock files that the noted commit was killed with: made after the note and within a minute of it, and
    /// open in no process.
    func removeLeftLocks(gitDirectory: FilePath, commonDirectory: FilePath, ref: String?, since time: Int) {
        var locks = [gitDirectory.appending("index.lock"), gitDirectory.appending("HEAD.lock")]
        if let ref { locks.append(commonDirectory.appending(ref + ".lock")) }
        for lock in locks {
            var facts = stat()
            guard lock.withPlatformString({ lstat($0, &facts) }) == 0, facts.st_uid == geteuid(),
                facts.st_mtim.tv_sec >= time - 1, facts.st_mtim.tv_sec <= time + 60,
                !OpenFiles.include(device: UInt64(facts.st_dev), inode: UInt64(facts.st_ino))
            else { continue }
            _ = lock.withPlatformString { unlink($0) }
        }
    }
}
