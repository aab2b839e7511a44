import Glibc
import SystemPackage

/// The system calls of a program that uses a mount; each throws its errno.
enum Client {
    static func check(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }

    static func open(_ path: FilePath, _ flags: Int32, mode: mode_t = 0o600) throws(Errno) -> Int32 {
        try check(Glibc.open(path.string, flags, mode))
    }

    static func write(_ path: FilePath, _ bytes: [UInt8], flags: Int32 = O_CREAT | O_TRUNC) throws(Errno) {
        let file = try open(path, O_WRONLY | flags)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress! + offset, $0.count - offset)
            }
            guard count > 0 else {
                let error = Errno(rawValue: errno)
                close(file)
                throw error
            }
            offset += count
        }
        _ = try check(close(file))
    }

    static func read(_ path: FilePath) throws(Errno) -> [UInt8] {
        let file = try open(path, O_RDONLY)
        defer { close(file) }
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 100_000)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            guard count >= 0 else { throw Errno(rawValue: errno) }
            if count == 0 { return result }
            result += chunk[..<count]
        }
    }

    static func status(_ path: FilePath) throws(Errno) -> stat {
        var status = stat()
        _ = try check(lstat(path.string, &status))
        return status
    }

    static func names(_ path: FilePath) throws(Errno) -> [String] {
        guard let directory = opendir(path.string) else { throw Errno(rawValue: errno) }
        defer { closedir(directory) }
        var names: [String] = []
        errno = 0
        while let entry = Glibc.readdir(directory) { names.append(name(of: entry)) }
        guard errno == 0 else { throw Errno(rawValue: errno) }
        return names
    }

    static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        withUnsafePointer(to: &entry.pointee.d_name) { bytes in
            bytes.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
    }
}
