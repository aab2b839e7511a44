import CLinux
import Glibc
import System
import SystemPackage

/// Finds and ends the gpg process behind a gpgme operation.
///
/// gpgme forks twice and forgets the process id. When an operation is given up, closing the pipes does not end a gpg
/// that waits for gpg-agent's answer, for it does not look at its pipes; it would stay, and its prompt with it,
/// until somebody answers. The other ends of our pipes in /proc tell which process it is.
enum GpgProcess {
    /// Ends every process named gpg that has one of the pipes open.
    /// - Parameter pipes: Our descriptors of the operation, still open.
    static func terminate(pipes: [Int32]) {
        let inodes = Set(pipes.compactMap(inode(ofPipe:)))
        guard !inodes.isEmpty else { return }
        for process in DirectoryStream.names(in: "/proc").compactMap({ Int32($0) }) where process != getpid()
        {
            guard isGpg(process), holds(process, inodes) else { continue }
            // From here on the number cannot pass to another process unseen.
            let opened = passdir_pidfd_open(process)
            guard opened >= 0 else { continue }
            let handle = OwnedDescriptor(opened)
            if holds(process, inodes) { end(handle.raw) }
        }
    }

    /// SIGTERM lets gpg remove its lock files; one that is held up does not get to it.
    private static func end(_ handle: Int32) {
        _ = passdir_pidfd_send_signal(handle, SIGTERM)
        let hasEnded = try? Poll.wait(for: POLLIN, on: handle, until: .now + .milliseconds(100))
        if hasEnded == false { _ = passdir_pidfd_send_signal(handle, SIGKILL) }
    }

    private static func inode(ofPipe descriptor: Int32) -> UInt64? {
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFIFO else {
            return nil
        }
        return UInt64(information.st_ino)
    }

    /// A fork of ours that has not yet become gpg is not named so.
    private static func isGpg(_ process: Int32) -> Bool {
        let file = try? OwnedDescriptor(opening: FilePath("/proc/\(process)/comm"), O_RDONLY)
        guard let name = try? file?.readAll(atMost: 32) else { return false }
        return ["gpg\n", "gpg2\n"].contains(String(decoding: name, as: UTF8.self))
    }

    private static func holds(_ process: Int32, _ inodes: Set<UInt64>) -> Bool {
        let directory = "/proc/\(process)/fd"
        return DirectoryStream.names(in: FilePath(directory)).contains { entry in
            guard let facts = FilePath("\(directory)/\(entry)").targetFacts() else { return false }
            return facts.st_mode & S_IFMT == S_IFIFO && inodes.contains(UInt64(facts.st_ino))
        }
    }
}
