import Glibc
import SystemPackage

/// Memory for a message with a secret in it: pages of its own, locked where the limits allow, left out of core dumps and
/// wiped at the end of its life.
final class SecretMessage {
    private let base: UnsafeMutableRawBufferPointer
    /// How many bytes are filled.
    var count = 0

    init(capacity: Int) throws(Errno) {
        let start = mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { throw Errno.noMemory }
        madvise(start, capacity, Int32(MADV_DONTDUMP))
        mlock(start, capacity)
        base = UnsafeMutableRawBufferPointer(start: start, count: capacity)
    }

    deinit {
        guard let start = base.baseAddress else { return }
        explicit_bzero(start, base.count)
        munmap(start, base.count)
    }

    /// Where more bytes go.
    var rest: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: base[count...]) }
    /// What is there.
    var filled: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(base)[..<count])
    }

    /// Adds bytes; what does not fit is left out.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let fitting = min(bytes.count, rest.count)
        guard fitting > 0 else { return }
        rest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<fitting]))
        count += fitting
    }
}
