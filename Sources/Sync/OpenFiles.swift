import Glibc
import SystemPackage

/// Which files the processes of this user have open, as /proc tells.
enum OpenFiles {
    /// Whether any process that we may look at has the file open.
    static func include(device: UInt64, inode: UInt64) -> Bool {
        entries(of: "/proc").contains { process in
            guard process.allSatisfy(\.isNumber) else { return false }
            return entries(of: "/proc/\(process)/fd").contains { descriptor in
                var facts = stat()
                return stat("/proc/\(process)/fd/\(descriptor)", &facts) == 0
                    && UInt64(facts.st_dev) == device && UInt64(facts.st_ino) == inode
            }
        }
    }

    /// The names in a folder; none when it cannot be read.
    static func entries(of folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
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
