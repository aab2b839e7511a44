import Glibc
import SystemPackage

/// Memory before a page that cannot be touched: who reads or writes one byte too far, dies there.
///
/// The address sanitizer sees the same of Swift's and C's own memory; this also works where the toolchain has none, and
/// shows what reads too far in libraries that were built without it.
///
/// Unchecked, as it is a pointer: each run of the fuzzer has its own and uses it on one thread.
final class GuardedMemory: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let size: Int
    private static let page = sysconf(Int32(_SC_PAGESIZE))

    /// - Parameter most: the longest bytes that are to be held.
    init(most: Int) throws(Errno) {
        size = (most + Self.page - 1) / Self.page * Self.page
        let made = mmap(
            nil, size + Self.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let made, made != MAP_FAILED, mprotect(made + size, Self.page, PROT_NONE) == 0 else {
            throw Errno(rawValue: errno)
        }
        start = made
    }

    deinit {
        munmap(start, size + Self.page)
    }

    /// The bytes, ending at the untouchable page; good until the next call.
    func hold(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        precondition(bytes.count <= size, "an input is longer than its target allows")
        let held = UnsafeMutableRawBufferPointer(start: start + size - bytes.count, count: bytes.count)
        held.copyBytes(from: bytes)
        return held
    }
}
