import Glibc
import SystemPackage

/// The system calls of programs, made by the test itself where a program would only be slower.
enum FileCalls {
    /// Saves as most programs do: create or truncate, write, close. Throws the first error, that of close, too.
    static func save(
        _ bytes: [UInt8], to path: FilePath, options: FileDescriptor.OpenOptions = [.create, .truncate]
    )
        throws(Errno)
    {
        try posix {
            let file = try FileDescriptor.open(
                path, .writeOnly, options: options, permissions: .ownerReadWrite)
            do {
                try file.writeAll(bytes)
            } catch {
                try? file.close()
                throw error
            }
            try file.close()
        }
    }

    /// All bytes, by one open and reads to the end.
    static func read(_ path: FilePath) throws(Errno) -> [UInt8] {
        try posix {
            let file = try FileDescriptor.open(path, .readOnly)
            return try file.closeAfter {
                var bytes: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 65536)
                while true {
                    let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
                    guard count > 0 else { return bytes }
                    bytes += chunk.prefix(count)
                }
            }
        }
    }

    static func makeDirectory(_ path: FilePath) throws(Errno) {
        guard mkdir(path.string, 0o700) == 0 else { throw Errno(rawValue: errno) }
    }

    static func rename(_ path: FilePath, to other: FilePath) throws(Errno) {
        guard Glibc.rename(path.string, other.string) == 0 else { throw Errno(rawValue: errno) }
    }

    static func unlink(_ path: FilePath) throws(Errno) {
        guard Glibc.unlink(path.string) == 0 else { throw Errno(rawValue: errno) }
    }

    /// st_size of stat(2).
    static func size(_ path: FilePath) throws(Errno) -> Int {
        var facts = stat()
        guard stat(path.string, &facts) == 0 else { throw Errno(rawValue: errno) }
        return Int(facts.st_size)
    }

    static func exists(_ path: FilePath) -> Bool {
        access(path.string, F_OK) == 0
    }

    /// The names in a folder, without `.` and `..`, sorted.
    static func names(in path: FilePath) throws(Errno) -> [String] {
        guard let folder = opendir(path.string) else { throw Errno(rawValue: errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// swift-system's calls throw nothing but `Errno`.
    private static func posix<Result>(_ body: () throws -> Result) throws(Errno) -> Result {
        do {
            return try body()
        } catch let error as Errno {
            throw error
        } catch {
            preconditionFailure("not of the system: \(error)")
        }
    }
}
