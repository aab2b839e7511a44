import Git
import Glibc
import System
import SystemPackage

/// Which files the processes of this user have open, as /proc tells.
enum OpenFiles {
    /// Whether any process that we may look at has the file open.
    ///
    /// The links in /proc are read, not followed: what another process has open may lie on a file system that does not
    /// answer, such as a mount that is being taken down. A daemon of ours lets nobody see what it has open; it counts as
    /// having the file open.
    static func include(_ file: FilePath) -> Bool {
        guard let wanted = try? file.resolvingLinks().string else { return false }
        return DirectoryStream.names(in: "/proc").contains { process in
            guard process.allSatisfy(\.isNumber) else { return false }
            let folder = "/proc/\(process)/fd"
            if access(folder, R_OK) != 0, errno == EACCES, identity(of: process) == ownIdentity {
                return true
            }
            return DirectoryStream.names(in: FilePath(folder)).contains { descriptor in
                var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
                let count = readlink("/proc/\(process)/fd/\(descriptor)", &buffer, buffer.count)
                return count > 0
                    && String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                        == wanted
            }
        }
    }

    private static let ownIdentity = identity(of: "self")

    /// The lines of /proc/PID/status with a process's name and its user.
    private static func identity(of process: String) -> [String] {
        guard let file = fopen("/proc/\(process)/status", "re") else { return [] }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var found: [String] = []
        while found.count < 2, fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("Name:") || text.hasPrefix("Uid:") { found.append(text) }
        }
        return found
    }
}
