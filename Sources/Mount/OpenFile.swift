import Fuse
import SystemPackage

/// A file that a program has open. What it does not implement fails as on a file that is open for reading only.
protocol OpenFile: Sendable {
    /// Whether the program may write to it.
    var isWritable: Bool { get }
    /// Whether the pages that the kernel has of it are its content.
    var isInKernel: Bool { get }
    /// Whether each read comes here: the kernel's pages of a file are one for all who have it open.
    var isReadDirectly: Bool { get }
    /// Its length in bytes.
    var size: Int64 { get }
    /// Hands up to `count` bytes from `offset` to `reply`, exactly once unless it throws.
    func read(at offset: Int, count: Int, _ reply: (UnsafeRawBufferPointer) -> Void) throws(Errno)
    /// write(2); takes all bytes or none.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, isFromPageCache: Bool) throws(Errno)
    /// fallocate(2).
    func allocate(mode: Int32, offset: Int64, length: Int64) throws(Errno)
    /// One descriptor of it is closed; the error is what close(2) returns.
    func flush(for caller: Caller) throws(Errno)
    /// fsync(2).
    func synchronize() throws(Errno)
    /// The last descriptor is closed.
    func close()
}

extension OpenFile {
    var isWritable: Bool { false }
    var isInKernel: Bool { false }
    var isReadDirectly: Bool { false }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, isFromPageCache: Bool) throws(Errno) {
        throw .badFileDescriptor
    }
    func allocate(mode: Int32, offset: Int64, length: Int64) throws(Errno) { throw .badFileDescriptor }
    func flush(for caller: Caller) throws(Errno) {}
    func synchronize() throws(Errno) {}
    func close() {}
}

/// Bytes that are no secret, as they were when the file was opened.
struct PlainFile: OpenFile {
    let bytes: [UInt8]

    var size: Int64 { Int64(bytes.count) }

    func read(at offset: Int, count: Int, _ reply: (UnsafeRawBufferPointer) -> Void) {
        let start = min(max(offset, 0), bytes.count)
        let end = min(start + count, bytes.count)
        bytes.withUnsafeBytes { reply(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    }
}
