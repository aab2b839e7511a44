import CLinux
import Glibc
import Synchronization
import SystemPackage

/// A private mapping that holds plaintext: left out of core dumps, empty in a forked child, wiped and unmapped when it is
/// let go; and locked in memory, so that it never reaches swap, as far as RLIMIT_MEMLOCK allows. What it does not
/// allow is counted, and `passdir status` tells it.
///
/// It is the one owner of its pages, and never shares them with the heap: what malloc has held stays readable in
/// its free lists.
// The pages are reached through borrows and changed through mutating borrows only, so that whoever owns the value
// owns the only way to them, on whatever thread.
struct SecretPages: ~Copyable, @unchecked Sendable {
    /// Bytes of all live mappings that could not be locked (RLIMIT_MEMLOCK).
    static let unlocked = Atomic<Int>(0)
    /// The most that `unlocked` ever was.
    static let mostUnlocked = Atomic<Int>(0)

    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// nil while nothing is mapped.
    private(set) var base: UnsafeMutableRawPointer?
    /// Mapped bytes, a multiple of the page size.
    private(set) var capacity = 0
    private var isLocked = false

    /// Maps nothing yet.
    init() {}

    /// Maps at least `minimum` bytes, all zero.
    init(minimum: Int) throws(Errno) {
        self.init()
        try grow(minimum: minimum)
    }

    deinit {
        guard let base else { return }
        explicit_bzero(base, capacity)
        munmap(base, capacity)
        if !isLocked { Self.unlocked.subtract(capacity, ordering: .relaxed) }
    }

    /// Grows the mapping to at least `minimum` bytes; what is new is zero. The kernel moves the pages, so that no
    /// copy stays behind. On failure everything is as it was.
    mutating func grow(minimum: Int) throws(Errno) {
        let (sum, overflow) = minimum.addingReportingOverflow(Self.pageSize - 1)
        guard !overflow else { throw Errno.noMemory }
        let size = sum / Self.pageSize * Self.pageSize
        guard size > capacity else { return }
        guard let old = base else {
            base = try Self.map(size)
            capacity = size
            lock()
            return
        }
        // The limit on locked memory would make mremap fail: better a mapping that is not locked than an error.
        if isLocked { munlock(old, capacity) } else { Self.unlocked.subtract(capacity, ordering: .relaxed) }
        let moved = passdir_mremap(old, capacity, size)
        let isMoved = moved != MAP_FAILED
        if isMoved {
            base = moved
            capacity = size
        }
        lock()
        if !isMoved { throw Errno.noMemory }
    }

    private mutating func lock() {
        isLocked = mlock(base, capacity) == 0
        guard !isLocked else { return }
        let now = Self.unlocked.add(capacity, ordering: .relaxed).newValue
        Self.mostUnlocked.max(now, ordering: .relaxed)
    }

    private static func map(_ size: Int) throws(Errno) -> UnsafeMutableRawPointer {
        let address = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address, address != MAP_FAILED else { throw Errno.noMemory }
        guard
            madvise(address, size, Int32(MADV_DONTDUMP)) == 0,
            madvise(address, size, Int32(MADV_WIPEONFORK)) == 0
        else {
            let error = Errno(rawValue: errno)
            munmap(address, size)
            throw error
        }
        return address
    }
}
