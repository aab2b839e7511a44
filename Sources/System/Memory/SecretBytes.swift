import Glibc
import Synchronization
import SystemPackage

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

    /// How many bytes of secret memory, in all live values of the process, could not be locked and so may reach
    /// swap. RLIMIT_MEMLOCK sets the bound.
    public static var unlockedByteCount: Int { SecretPages.unlocked.load(ordering: .relaxed) }

    /// The most bytes that could not be locked at any time since the process began.
    public static var mostUnlockedByteCount: Int { SecretPages.mostUnlocked.load(ordering: .relaxed) }
}
