import CLinux
import Glibc
public import SystemPackage

extension FilePath {
    /// The absolute path without symbolic links, `.` and `..`: realpath(3).
    ///
    /// - Throws: ENOENT and the like when it leads nowhere.
    public func resolvingLinks() throws(Errno) -> FilePath {
        guard let resolved = withPlatformString({ realpath($0, nil) }) else { throw .last }
        defer { free(resolved) }
        return FilePath(platformString: resolved)
    }

    /// The path as somebody in this process's folder means it, without `.` and `..` where that needs no look at the disk.
    public var absolute: FilePath {
        var folder = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&folder, folder.count) != nil else { return self }
        return FilePath(platformString: folder).pushing(self).lexicallyNormalized()
    }
}

extension FilePath {
    /// symlink(2): makes a symbolic link of this name.
    /// - Throws: EEXIST where something has the name.
    public func makeLink(to target: FilePath) throws(Errno) {
        let made = target.withPlatformString { target in withPlatformString { symlink(target, $0) } }
        guard made == 0 else { throw .last }
    }

    /// renameat2(2): two names change places, in one step.
    /// - Throws: EINVAL where the file system cannot do that.
    public func exchange(with other: FilePath) throws(Errno) {
        try move(to: other, flags: PASSDIR_RENAME_EXCHANGE)
    }

    /// rename(2), but replaces nothing.
    /// - Throws: EEXIST where something has the other name.
    public func renameIfFree(to other: FilePath) throws(Errno) {
        try move(to: other, flags: PASSDIR_RENAME_NOREPLACE)
    }

    private func move(to other: FilePath, flags: CUnsignedInt) throws(Errno) {
        let moved = withPlatformString { from in
            other.withPlatformString { passdir_renameat2(AT_FDCWD, from, AT_FDCWD, $0, flags) }
        }
        guard moved == 0 else { throw .last }
    }
}
