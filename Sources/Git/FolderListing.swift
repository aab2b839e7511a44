import Glibc
import SystemPackage

/// What lies in a folder of git's.
enum FolderListing {
    /// The names; none when the folder cannot be read.
    static func names(in folder: FilePath) -> [String] {
        guard let stream = folder.withPlatformString({ opendir($0) }) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
