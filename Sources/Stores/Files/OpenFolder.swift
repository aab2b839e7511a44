import Glibc
import System
public import SystemPackage

/// A folder of a store that is held open, to look at several of its entries: to find the folder costs more than to look.
public final class OpenFolder: Sendable {
    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    /// The facts of an entry, a symbolic link's own; nil where there is none.
    /// - Throws: The errno of fstatat(2).
    public func statusIfPresent(of name: FilePath.Component) throws(Errno) -> FileStatus? {
        var raw = stat()
        let result = name.withPlatformString { name in
            retryingWhenInterrupted { fstatat(descriptor.raw, name, &raw, AT_SYMLINK_NOFOLLOW) }
        }
        if result == 0 { return FileStatus(raw) }
        guard errno == ENOENT else { throw Errno.last }
        return nil
    }
}

extension Root {
    /// Opens a folder to look at its entries.
    /// - Throws: The errno of openat2(2).
    public func openFolder(_ path: FilePath) throws(Errno) -> OpenFolder {
        OpenFolder(try open(path, flags: O_PATH_AND_DIRECTORY))
    }
}
