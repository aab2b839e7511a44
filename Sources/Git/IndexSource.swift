import Glibc
import SystemPackage

/// The bytes of an index, in memory of our own: read, not mapped, since a mapped file that another program cuts short
/// would end this process.
final class IndexSource {
    /// The metadata of the index that was read.
    let facts: stat
    private let memory: UnsafeMutableRawBufferPointer
    private var count = 0
    /// Held open: the kernel gives the blocks of a file back when its last name and its last descriptor are gone, which
    /// takes milliseconds for a large one; the moment in which the index is replaced is not to be one of them.
    private let file: Descriptor

    private init(_ facts: stat, _ file: consuming Descriptor) {
        self.facts = facts
        self.file = file
        memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(facts.st_size, 1), alignment: 16)
    }

    /// Nil when there is no index.
    static func read(_ index: FilePath) throws(GitError) -> IndexSource? {
        let opened = index.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        if opened < 0, errno == ENOENT { return nil }
        guard opened >= 0 else { throw .system(Errno(rawValue: errno), "cannot read the index") }
        let file = Descriptor(opened)
        var facts = stat()
        guard fstat(file.raw, &facts) == 0 else {
            throw .system(Errno(rawValue: errno), "cannot read the index")
        }
        let source = IndexSource(facts, file)
        while source.count < facts.st_size {
            let rest = source.memory[source.count..<facts.st_size]
            let got = Glibc.read(source.file.raw, rest.base.baseAddress.map { $0 + source.count }, rest.count)
            if got == 0 { break }
            if got > 0 {
                source.count += got
            } else if errno != EINTR {
                throw .system(Errno(rawValue: errno), "cannot read the index")
            }
        }
        return source
    }

    deinit {
        memory.deallocate()
    }

    /// The whole file.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(writable) }

    /// The same, to be changed before it is written elsewhere.
    var writable: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[..<count]) }
}

extension Descriptor {
    /// Writes all of the pieces, one after the other.
    borrowing func write(_ pieces: [UnsafeRawBufferPointer], _ doing: String) throws(GitError) {
        /// As many as writev takes in one call.
        let most = 1024
        var vectors = pieces.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        var next = 0
        while next < vectors.count {
            let wrote = vectors.withUnsafeBufferPointer {
                writev(raw, $0.baseAddress! + next, CInt(min($0.count - next, most)))
            }
            if wrote < 0 {
                if errno == EINTR { continue }
                throw .system(Errno(rawValue: errno), doing)
            }
            var left = wrote
            while next < vectors.count, left >= vectors[next].iov_len {
                left -= vectors[next].iov_len
                next += 1
            }
            if left > 0 {
                vectors[next].iov_base += left
                vectors[next].iov_len -= left
            }
        }
    }
}
