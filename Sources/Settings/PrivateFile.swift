import Git
import Glibc
import System
public import SystemPackage

/// Small files of our own: replaced as a whole, durably, closed to others.
public enum PrivateFile {
    /// Writes a file (0600) in place of an older one; durable on return.
    public static func write(_ bytes: [UInt8], to file: FilePath) throws(Errno) {
        let folder = file.removingLastComponent()
        let copy = FilePath(file.string + ".new")
        _ = copy.withPlatformString { unlink($0) }
        let raw = copy.withPlatformString { open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600) }
        guard raw >= 0 else { throw Errno(rawValue: errno) }
        do throws(Errno) {
            defer { close(raw) }
            var written = 0
            while written < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(raw, $0.baseAddress! + written, $0.count - written)
                }
                if count < 0, errno != EINTR { throw Errno(rawValue: errno) }
                written += max(count, 0)
            }
            guard fsync(raw) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            _ = copy.withPlatformString { unlink($0) }
            throw error
        }
        let moved = copy.withPlatformString { from in file.withPlatformString { rename(from, $0) } }
        guard moved == 0 else { throw Errno(rawValue: errno) }
        OwnedDescriptor.synchronize(folder: folder)
    }

    /// The bytes of a file, links not followed; nil when it is not there.
    public static func read(_ file: FilePath, limit: Int = 16 << 20) throws(Errno) -> [UInt8]? {
        let raw = file.withPlatformString { open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) }
        if raw < 0, errno == ENOENT || errno == ENOTDIR { return nil }
        guard raw >= 0 else { throw Errno(rawValue: errno) }
        defer { close(raw) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(raw, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Errno(rawValue: errno) }
            if count == 0 { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= limit else { throw .fileTooLarge }
        }
    }

    /// The names in a folder, sorted; none when it is not there.
    public static func names(in folder: FilePath) -> [String] {
        DirectoryStream.names(in: folder).sorted()
    }
}

extension Directories {
    /// Makes a folder and what is missing above it, each 0700.
    public static func makeFolders(_ folder: FilePath) throws(Errno) {
        guard !folder.isEmpty, folder.withPlatformString({ access($0, F_OK) }) != 0 else { return }
        try makeFolders(folder.removingLastComponent())
        if folder.withPlatformString({ mkdir($0, 0o700) }) != 0, errno != EEXIST {
            throw Errno(rawValue: errno)
        }
    }
}
