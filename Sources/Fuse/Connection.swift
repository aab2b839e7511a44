import Glibc
import SystemPackage

/// The kernel's side of a session, which its file system for FUSE shows (fusectl, Documentation/filesystems/fuse.rst).
///
/// What is unmounted in one mount namespace may still be seen in another, such as that of a container or a sandbox that was
/// started meanwhile: the session goes on for the programs there.
enum Connection {
    private static let folder: FilePath = "/sys/fs/fuse/connections"

    /// Ends a session for everybody who still sees it; its owner may.
    /// - Parameter number: that of the file system's device, as `major:minor`.
    /// - Returns: false where the kernel does not show it, or did not allow it.
    static func abort(_ number: String) -> Bool {
        let parts = number.split(separator: ":")
        guard parts.count == 2, parts[0] == "0", let minor = UInt32(parts[1]) else { return false }
        let file = open("\(folder)/\(minor)/abort", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return write(file, "1", 1) == 1
    }
}
