import Glibc
public import SystemPackage

/// Memory into which the kernel copies requests, and with them what programs write. Each receiving thread has one
/// of its own, for as long as the session runs.
public protocol ReceiveMemory: AnyObject {
    /// The memory: as many bytes as were asked for, aligned to 16. Valid while the owner lives.
    var bytes: UnsafeMutableRawBufferPointer { get }
}

/// Pages that are left out of core dumps, are zero in a forked child and, where the limit allows (`RLIMIT_MEMLOCK`),
/// are never written to swap.
public final class ProtectedPages: ReceiveMemory {
    /// The pages.
    public let bytes: UnsafeMutableRawBufferPointer
    /// Whether they are locked in memory.
    public let isLocked: Bool

    /// Maps as many whole pages as `byteCount` bytes take. Throws what mmap(2) reports.
    public init(byteCount: Int) throws(Errno) {
        let page = sysconf(Int32(_SC_PAGESIZE))
        let length = (byteCount + page - 1) / page * page
        let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { throw Errno(rawValue: Glibc.errno) }
        madvise(start, length, MADV_DONTDUMP)
        madvise(start, length, MADV_WIPEONFORK)
        isLocked = mlock(start, length) == 0
        bytes = UnsafeMutableRawBufferPointer(start: start, count: length)
    }

    deinit {
        guard let start = bytes.baseAddress else { return }
        explicit_bzero(start, bytes.count)
        munmap(start, bytes.count)
    }
}
