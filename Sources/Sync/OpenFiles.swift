import Glibc
import SystemPackage

/// Which files the processes of this user have open, as /proc tells.
enum OpenFiles {
    /// Whether any process that we may look at has the file open.
    ///
    /// The links in /proc are read, not followed: what another process has open may lie on a file system that does not
    /// answer, such as a mount that is being taken down.
    static func include(_ file: FilePath) -> Bool {
        guard let resolved = file.withPlatformString({ realpath($0, nil) }) else { return false }
        defer { free(resolved) }
        let wanted = String(cString: resolved)
        return entries(of: "/proc").contains { process in
            guard process.allSatisfy(\.isNumber) else { return false }
            return entries(of: "/proc/\(process)/fd").contains { descriptor in
                var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
                let count = readlink("/proc/\(process)/fd/\(descriptor)", &buffer, buffer.count)
                return count > 0
                    && String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                        == wanted
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
