import Glibc
import SystemPackage

/// Plaintext that grows and changes, in the same memory as `SecretBytes`.
///
/// It cannot be copied by accident. Growing moves pages and leaves no copy behind; what shrinking cuts off is
/// wiped at once.
public struct SecretBuffer: ~Copyable, Sendable {
    private var pages = SecretPages()

    /// The number of bytes.
    public private(set) var count = 0

    /// An empty buffer; it maps nothing until something is written.
    public init() {}

    /// A buffer with the content of `bytes`.
    /// - Throws: `Errno.noMemory` when no memory can be mapped.
    public init(copying bytes: SecretBytes) throws(Errno) {
        self.init()
        try bytes.withUnsafeBytes { (source) throws(Errno) in try write(source, at: 0) }
    }

    /// Cuts off the end and wipes it, or grows with zero bytes.
    /// - Throws: `Errno.noMemory` when the memory cannot be had; the content is then as it was.
    public mutating func resize(to newCount: Int) throws(Errno) {
        guard newCount >= 0 else { throw Errno.invalidArgument }
        if newCount > count {
            try reserve(newCount)
        } else if newCount < count, let base = pages.base {
            // Bytes beyond `count` are always zero, so that growing needs no wiping.
            explicit_bzero(base + newCount, count - newCount)
        }
        count = newCount
    }

    /// Puts `bytes` at `offset`; grows when they reach beyond the end, a gap is filled with zero bytes.
    /// - Throws: `Errno.noMemory` when the memory cannot be had; the content is then as it was.
    public mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(Errno) {
        guard offset >= 0 else { throw Errno.invalidArgument }
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        let (end, overflow) = offset.addingReportingOverflow(bytes.count)
        guard !overflow else { throw Errno.noMemory }
        try reserve(end)
        if let base = pages.base { memmove(base + offset, source, bytes.count) }
        count = max(count, end)
    }

    /// Lends the bytes to `body`; the pointer is valid during the call only.
    public func withUnsafeBytes<R, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeRawBufferPointer(start: pages.base, count: count))
    }

    /// Lends the bytes to `body` to change them; the pointer is valid during the call only.
    public mutating func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableRawBufferPointer(start: pages.base, count: count))
    }

    /// Keeps these ranges, one behind the other, and wipes all else.
    /// - Throws: EINVAL where they overlap, are in another order, or reach beyond the end.
    public mutating func keep(_ ranges: [Range<Int>]) throws(Errno) {
        var end = 0
        for range in ranges {
            guard range.lowerBound >= end, range.upperBound <= count else { throw .invalidArgument }
            end = range.upperBound
        }
        var kept = 0
        for range in ranges {
            if let base = pages.base { memmove(base + kept, base + range.lowerBound, range.count) }
            kept += range.count
        }
        try resize(to: kept)
    }

    /// A copy that never changes.
    /// - Throws: `Errno.noMemory` when no memory can be mapped.
    public func snapshot() throws(Errno) -> SecretBytes {
        try withUnsafeBytes { (bytes) throws(Errno) in try SecretBytes(copying: bytes) }
    }

    /// Gives the content up as a value that never changes, without copying it.
    public consuming func freeze() -> SecretBytes {
        SecretBytes(pages: pages, count: count)
    }

    /// Wipes the content and gives its memory back.
    public mutating func clear() {
        pages = SecretPages()
        count = 0
    }

    private mutating func reserve(_ minimum: Int) throws(Errno) {
        guard minimum > pages.capacity else { return }
        // Half as much again, so that many small writes move the pages a few times only.
        let (roomy, overflow) = pages.capacity.addingReportingOverflow(pages.capacity / 2)
        do throws(Errno) {
            try pages.grow(minimum: overflow ? minimum : max(minimum, roomy))
        } catch {
            try pages.grow(minimum: minimum)
        }
    }
}
