import CLinux
import Glibc
import SystemPackage

/// Folders for the daemon's own files.
public enum PrivateFolder {
    /// Makes a folder and what is missing above it, each with mode 0700; one that exists is left as it is.
    public static func make(_ path: FilePath) throws(Errno) {
        var facts = stat()
        if stat(path.string, &facts) == 0 {
            guard facts.st_mode & S_IFMT == S_IFDIR else { throw Errno.notDirectory }
            return
        }
        guard errno == ENOENT else { throw Errno(rawValue: errno) }
        let parent = path.removingLastComponent()
        if !parent.isEmpty, parent != path { try make(parent) }
        guard mkdir(path.string, 0o700) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
    }
}
