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
