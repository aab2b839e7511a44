import CLinux
import Glibc
public import SystemPackage

/// Tells which of many processes have ended, by one short system call that looks at none of them: to look at one that runs on
/// another processor is much slower, as what it writes has to be fetched from there. epoll(7), pidfd_open(2)
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
        guard passdir_epoll_add(instance.raw, process.descriptor, process.number) == 0 else { throw .last }
    }

    /// The numbers of processes that have ended: of some where they are many, and each time again until their objects go. The
    /// kernel tells of a process before its number can be another's.
    public func ended() -> [Int32] {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(PASSDIR_EPOLL_MOST)) { numbers in
            let count = passdir_epoll_ready(instance.raw, numbers.baseAddress)
            return count > 0 ? Array(numbers[..<Int(count)]) : []
        }
    }
}
