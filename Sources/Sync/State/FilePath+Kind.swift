import Glibc
import System
import SystemPackage

extension FilePath {
    /// The type of what lies there (`S_IFREG` and its kind), links not followed; nil: nothing.
    var kindOnDisk: mode_t? { facts().map { $0.st_mode & S_IFMT } }

    /// Without the name of a folder above it; nil where it does not lie below that.
    func relative(to folder: FilePath) -> FilePath? {
        var path = self
        return folder.isEmpty || path.removePrefix(folder) ? path : nil
    }
}
