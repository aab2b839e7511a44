import Glibc
public import SystemPackage

/// What lies in a folder.
public enum FolderListing {
    /// The names, in no order; none when the folder cannot be read.
    public static func names(in folder: FilePath) -> [String] {
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
