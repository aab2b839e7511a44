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
}
