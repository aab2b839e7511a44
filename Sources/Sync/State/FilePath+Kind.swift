import Glibc
import SystemPackage

extension FilePath {
    /// The type of what lies there (`S_IFREG` and its kind), links not followed; nil: nothing.
    var kindOnDisk: mode_t? { kind(of: self) }

    /// Without the name of a folder above it; nil where it does not lie below that.
    func relative(to folder: FilePath) -> FilePath? {
        var path = self
        return folder.isEmpty || path.removePrefix(folder) ? path : nil
    }
}

/// Outside the extension, where `stat` is something else.
private func kind(of path: FilePath) -> mode_t? {
    var facts = stat()
    return path.withPlatformString { lstat($0, &facts) } == 0 ? facts.st_mode & S_IFMT : nil
}
