import CLinux
import Glibc
public import SystemPackage

/// Tells whether any of many processes has ended, by one short system call that looks at none of them: to look at one that runs
/// on another processor is much slower, as what it writes has to be fetched from there. epoll(7), pidfd_open(2)
public final class EndWatch: Sendable {
    private let instance: OwnedDescriptor

    /// - Throws: EMFILE, ENOMEM.
    public init() throws(Errno) {
        let opened = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard opened >= 0 else { throw .last }
        instance = OwnedDescriptor(opened)
    }

    /// Watches a process for as long as its object lives.
    /// - Throws: ENOSPC where a user watches too much; ENOMEM.
    public func add(_ process: RunningProcess) throws(Errno) {
        guard passdir_epoll_add(instance.raw, process.descriptor) == 0 else { throw .last }
    }

    /// Whether one has ended whose object still lives. The kernel says so before the number can be another process's.
    public var seesAnEnd: Bool { passdir_epoll_is_ready(instance.raw) }
}
