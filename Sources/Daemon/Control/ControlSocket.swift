import CLinux
import Glibc
import System
import SystemPackage

/// The socket file of the control protocol: who may reach it and whose it is.
///
/// The folder is 0700, the socket 0600, and a lock file beside it is held for as long as a daemon listens, so
/// that of two daemons started at once one is refused, and a socket file left by a crash is told from a live one.
struct ControlSocket: ~Copyable {
    /// The listening descriptor.
    let listening: Int32
    private let path: FilePath
    let lock: OwnedDescriptor

    /// Listens at a path, replacing a socket file that nobody listens at any more.
    ///
    /// - Throws: `alreadyRunning` when a daemon listens there, `refused` when the folder is not ours alone,
    ///   `failed` for what the system refuses.
    init(listeningAt path: FilePath) throws(ControlError) {
        let folder = try Self.privateFolder(path.removingLastComponent())
        defer { close(folder) }
        let name = path.lastComponent?.string ?? ""
        let lock = try OwnedDescriptor(
            opening: FilePath(name + ".lock"), in: folder, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600
        ) { ControlError(.failed, "cannot open the lock file of \(path): \($0)") }
        try rethrowing(lock.lock()) { (error: Errno) in
            error == .wouldBlock
                ? ControlError(.alreadyRunning, "a passdir daemon is already running (it holds \(path))")
                : ControlError(.failed, "cannot lock \(path): \(error)")
        }
        try Self.removeStale(path, name: name, folder: folder)
        listening = try Self.listen(at: path, name: name, folder: folder)
        self.path = path
        self.lock = lock
    }

    /// Removes the socket file and gives the place free. The lock file stays: removing it would race.
    consuming func end() {
        unlink(path.string)
        close(listening)
    }

    /// Connects to a daemon.
    ///
    /// - Returns: a connected socket that the caller closes.
    /// - Throws: `noDaemon` when nobody listens there.
    static func connect(to path: FilePath, timeout: Duration) throws(ControlError) -> Int32 {
        let folder = open(path.removingLastComponent().string, PASSDIR_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw ControlError(.noDaemon, "no passdir daemon is running (\(path) is not there)")
        }
        defer { close(folder) }
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw failure("create a socket for", path) }
        // connect(2) waits while the backlog is full, for as long as this option allows.
        var limit = timeval(tv_sec: Int(max(1, timeout.components.seconds)), tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let code = withAddress(path, name: path.lastComponent?.string ?? "", folder: folder) {
            Glibc.connect(socket, $0, $1)
        }
        guard code == 0 else {
            let reason = errno
            close(socket)
            switch reason {
            case ENOENT, ECONNREFUSED:
                throw ControlError(.noDaemon, "no passdir daemon is running (nobody listens at \(path))")
            case EAGAIN, EINPROGRESS, ETIMEDOUT:
                throw ControlError(.timedOut, "the passdir daemon accepts no connections at \(path)")
            default:
                throw ControlError(.failed, "cannot connect to \(path): \(Errno(rawValue: reason))")
            }
        }
        guard passdir_peer_uid(socket) == Int64(geteuid()) else {
            close(socket)
            throw ControlError(.refused, "the process listening at \(path) belongs to another user")
        }
        return socket
    }

    /// Opens the folder of the socket, made if it is not there; it must be ours and closed to everybody else.
    private static func privateFolder(_ path: FilePath) throws(ControlError) -> Int32 {
        try rethrowing(path.makeFolders()) { (error: Errno) in
            ControlError(.failed, "cannot create \(path): \(error)")
        }
        let folder = open(path.string, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw failure("open", path) }
        var facts = stat()
        guard fstat(folder, &facts) == 0, facts.st_uid == geteuid() else {
            close(folder)
            throw ControlError(.refused, "\(path) belongs to another user")
        }
        if facts.st_mode & 0o077 != 0, fchmod(folder, 0o700) != 0 {
            close(folder)
            throw failure("restrict the permissions of", path)
        }
        return folder
    }

    private static func removeStale(
        _ path: FilePath, name: String, folder: Int32
    ) throws(ControlError) {
        var facts = stat()
        guard fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        guard facts.st_mode & S_IFMT == S_IFSOCK else {
            throw ControlError(.refused, "\(path) is in the way: it is not a socket")
        }
        do {
            close(try connect(to: path, timeout: .seconds(1)))
        } catch  where error.code == .noDaemon {
            unlinkat(folder, name, 0)
            return
        }
        throw ControlError(.alreadyRunning, "something is already listening at \(path)")
    }

    private static func listen(
        at path: FilePath, name: String, folder: Int32
    ) throws(ControlError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = socket(AF_UNIX, type, 0)
        guard socket >= 0 else { throw failure("create a socket at", path) }
        let code = withAddress(path, name: name, folder: folder) { bind(socket, $0, $1) }
        guard code == 0, fchmodat(folder, name, 0o600, 0) == 0, Glibc.listen(socket, 16) == 0 else {
            let error = failure("listen at", path)
            close(socket)
            throw error
        }
        return socket
    }

    /// Hands out the address of a socket file. A path too long for `sun_path` (108 bytes) is reached through the
    /// open folder's entry in /proc.
    private static func withAddress(
        _ path: FilePath, name: String, folder: Int32,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        var bytes = Array(path.string.utf8)
        if bytes.count >= room { bytes = Array("/proc/self/fd/\(folder)/\(name)".utf8) }
        guard bytes.count < room else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func failure(_ doing: String, _ path: FilePath) -> ControlError {
        ControlError(.failed, "cannot \(doing) \(path): \(Errno(rawValue: errno))")
    }
}
