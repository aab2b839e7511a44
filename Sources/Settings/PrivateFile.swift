import Git
import Glibc
import System
public import SystemPackage

/// Small files of our own: replaced as a whole, durably, closed to others.
public enum PrivateFile {
    /// Writes a file (0600) in place of an older one; durable on return.
    public static func write(_ bytes: [UInt8], to file: FilePath) throws(Errno) {
        let copy = FilePath(file.string + ".new")
        copy.unlink()
        let made = try OwnedDescriptor(opening: copy, O_CREAT | O_EXCL | O_WRONLY, mode: 0o600)
        do throws(Errno) {
            try made.writeAll(bytes)
            try made.synchronize()
        } catch {
            copy.unlink()
            throw error
        }
        try copy.rename(to: file)
        OwnedDescriptor.synchronize(folder: file.removingLastComponent())
    }

    /// The bytes of a file, links not followed; nil when it is not there.
    public static func read(_ file: FilePath, limit: Int = 16 << 20) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            return try OwnedDescriptor(opening: file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).readAll(
                atMost: limit)
        } catch {
            guard error == .noSuchFileOrDirectory || error == .notDirectory else { throw error }
            return nil
        }
    }

    /// The names in a folder, sorted; none when it is not there.
    public static func names(in folder: FilePath) -> [String] {
        DirectoryStream.names(in: folder).sorted()
    }
}
