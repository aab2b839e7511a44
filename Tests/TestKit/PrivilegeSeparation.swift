import Glibc
import SystemPackage

/// The empty folder that sshd insists on for every connection when root started it.
///
/// It is one for the whole machine, while tests with an sshd of their own run side by side: each holds a shared lock
/// on the folder, and the last one to leave removes it. The sticky bit, without effect on an empty folder, marks one
/// that a test made: the machine's own stays. scripts/soak_sync.py does the same. For an ordinary user it is nothing.
public final class PrivilegeSeparation {
    private static let folder = "/run/sshd"
    private let descriptor: Int32

    /// Makes the folder where it is not there, and keeps it for the life of this.
    public init() throws {
        guard getuid() == 0 else {
            descriptor = -1
            return
        }
        while true {
            guard mkdir(Self.folder, 0o1755) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
            let opened = open(Self.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if opened < 0 {
                if errno == ENOENT { continue }
                throw Errno(rawValue: errno)
            }
            // One who held it alone has removed it in between where the name leads to another folder now.
            if flock(opened, LOCK_SH) == 0, Self.isStill(opened) {
                descriptor = opened
                return
            }
            close(opened)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isStill(descriptor),
            let status = Self.status({ fstat(descriptor, &$0) }), status.st_mode & S_ISVTX != 0
        {
            rmdir(Self.folder)
        }
        close(descriptor)
    }

    private static func status(_ ask: (inout stat) -> Int32) -> stat? {
        var found = stat()
        return ask(&found) == 0 ? found : nil
    }

    private static func isStill(_ descriptor: Int32) -> Bool {
        guard let held = status({ fstat(descriptor, &$0) }), let named = status({ stat(folder, &$0) }) else {
            return false
        }
        return held.st_ino == named.st_ino && held.st_dev == named.st_dev
    }
}
