import Glibc
import Synchronization
public import SystemPackage

/// Plaintext that never changes, in memory that is left out of core dumps and forked children, is locked as far as the
/// limits allow, and is wiped when the last reference goes.
///
/// The bytes are handed out to a closure only. Whoever makes a `String` or an `Array` of them takes them out of
/// the protection; let such a copy end with the call that made it.
public final class SecretBytes: Sendable {
    /// The number of bytes.
    public let count: Int
    private let pages: SecretPages

    /// Copies `bytes` into memory of its own.
    /// - Throws: `Errno.noMemory` when no memory can be mapped.
    public init(copying bytes: UnsafeRawBufferPointer) throws(Errno) {
        count = bytes.count
        pages = try SecretPages(minimum: bytes.count)
        if let base = pages.base, let source = bytes.baseAddress { memcpy(base, source, bytes.count) }
    }

    /// Takes over the pages of a buffer without a copy.
    init(pages: consuming SecretPages, count: Int) {
        self.count = count
        self.pages = pages
    }

    /// Lends the bytes to `body`; the pointer is valid during the call only.
    public func withUnsafeBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: pages.base, count: count))
    }

    /// Whether these are the same bytes; takes as long for any that are as many.
    public func isEqual(to other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { one in
            other.withUnsafeBytes { other in zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 }
        }
    }

    /// Everything that a descriptor gives up to its end.
    /// - Throws: EFBIG for more than `limit` bytes; what read(2) says.
    public static func all(of descriptor: CInt, atMost limit: Int) throws(Errno) -> SecretBytes {
        var buffer = SecretBuffer()
        var count = 0
        while true {
            // One more, so that what is too long is seen.
            try buffer.resize(to: min(count + 65_536, limit + 1))
            let got = buffer.withUnsafeMutableBytes { bytes in
                read(descriptor, bytes.baseAddress.map { $0 + count }, bytes.count - count)
            }
            if got < 0, errno != EINTR { throw .last }
            count += max(got, 0)
            guard count <= limit else { throw .fileTooLarge }
            guard got != 0 else { break }
        }
        try buffer.resize(to: count)
        return buffer.freeze()
    }

    /// How many bytes of secret memory, in all live values of the process, could not be locked and so may reach
    /// swap. RLIMIT_MEMLOCK sets the bound.
    public static var unlockedByteCount: Int { SecretPages.unlocked.load(ordering: .relaxed) }

    /// The most bytes that could not be locked at any time since the process began.
    public static var mostUnlockedByteCount: Int { SecretPages.mostUnlocked.load(ordering: .relaxed) }
}
