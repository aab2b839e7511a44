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
                FilePath("\(folder)/\(descriptor)").linkTarget?.elementsEqual(wanted.utf8) == true
            }
        }
    }

    private static let ownIdentity = identity(of: "self")

    /// The lines of /proc/PID/status with a process's name and its user.
    private static func identity(of process: String) -> [String] {
        let file = FilePath("/proc/\(process)/status")
        let bytes = (try? OwnedDescriptor(opening: file, O_RDONLY).readAll()) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("Name:") || $0.hasPrefix("Uid:") }
    }
}
