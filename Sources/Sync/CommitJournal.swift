import Glibc
import SystemPackage

/// A note in the git folder that a commit of ours is on its way: written before the branch moves, removed when the
/// index is in step.
///
/// After a crash it tells which paths of the index are behind, and that locks which nobody holds open are ours.
struct CommitJournal {
    private static let name: FilePath.Component = "passdir-commit"

    let file: FilePath

    init(gitDirectory: FilePath) {
        file = gitDirectory.appending(Self.name)
    }

    /// Notes the paths, relative to the top of the repository. Durable on return.
    func write(_ paths: [FilePath]) throws(Errno) {
        var bytes = Array("\(getpid())\n".utf8)
        for path in paths {
            path.withPlatformString { bytes += UnsafeRawBufferPointer(start: $0, count: strlen($0)) }
            bytes.append(0)
        }
        let descriptor: FileDescriptor
        do {
            descriptor = try FileDescriptor.open(
                file, .writeOnly, options: [.create, .truncate, .closeOnExec, .noFollow],
                permissions: .ownerReadWrite)
        } catch {
            throw error as? Errno ?? .ioError
        }
        defer { try? descriptor.close() }
        do {
            _ = try descriptor.writeAll(bytes)
        } catch {
            throw error as? Errno ?? .ioError
        }
        guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
    }

    func remove() {
        _ = file.withPlatformString { unlink($0) }
    }

    /// The paths that a process noted which no longer runs, and when it did; nil when there is nothing to mend.
    func left() -> (paths: [FilePath], time: Int)? {
        guard let descriptor = try? FileDescriptor.open(file, .readOnly, options: [.closeOnExec, .noFollow])
        else {
            return nil
        }
        defer { try? descriptor.close() }
        var facts = stat()
        guard fstat(descriptor.rawValue, &facts) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        let count = (try? bytes.withUnsafeMutableBytes { try descriptor.read(into: $0) }) ?? 0
        guard let end = bytes[..<count].firstIndex(of: 10),
            let process = pid_t(String(decoding: bytes[..<end], as: UTF8.self))
        else { return ([], facts.st_mtim.tv_sec) }
        guard process == getpid() || kill(process, 0) != 0 else { return nil }
        let paths = bytes[(end + 1)..<count].split(separator: 0).map { path in
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
