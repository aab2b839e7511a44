import Dispatch
import Glibc
import Synchronization
import System
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
    private let file: OwnedDescriptor

    private init(_ facts: stat, _ file: consuming OwnedDescriptor) {
        self.facts = facts
        self.file = file
        memory = SpareMemory.take(max(facts.st_size, 1))
    }

    /// Nil when there is no index.
    static func read(_ index: FilePath) throws(GitError) -> IndexSource? {
        let opened = index.withPlatformString { open($0, O_RDONLY | O_CLOEXEC) }
        if opened < 0, errno == ENOENT { return nil }
        guard opened >= 0 else { throw .system(Errno(rawValue: errno), "cannot read the index") }
        let file = OwnedDescriptor(opened)
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
        SpareMemory.giveBack(memory)
    }

    /// Lends the whole file. A property would not do: an optimised build may let go of what it was read from last, and its
    /// memory is another index's then.
    func withBytes<R: ~Copyable>(
        _ body: (UnsafeRawBufferPointer) throws(GitError) -> R
    ) throws(GitError) -> R {
        try withExtendedLifetime(self) { () throws(GitError) in try body(UnsafeRawBufferPointer(writable)) }
    }

    /// The same, to be changed before it is written elsewhere; valid while this lives.
    var writable: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[..<count]) }
}

/// The memory of the index before, for the next one: to have the kernel find and clear 10 MB takes several times as long
/// as to read them. Commits come in bursts: when none has come for a while the memory is given back.
private enum SpareMemory {
    // Unchecked because it is a pointer: whoever takes the block from `spare` is the only one who has it.
    private struct Block: @unchecked Sendable {
        var bytes: UnsafeMutableRawBufferPointer
    }

    /// More is not kept.
    private static let most = 32 << 20

    private static let patience = DispatchTimeInterval.seconds(5)

    private struct State {
        var block: Block?
        /// Rises with each block that is kept.
        var generation = 0
    }

    private static let spare = Mutex(State())

    static func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let found = spare.withLock { spare -> Block? in
            guard let block = spare.block, block.bytes.count >= count else { return nil }
            spare.block = nil
            return block
        }
        // Some room for what is added until the next time.
        return found?.bytes ?? .allocate(byteCount: count + count / 8, alignment: 16)
    }

    static func giveBack(_ bytes: UnsafeMutableRawBufferPointer) {
        let new = Block(bytes: bytes)
        let (useless, generation) = spare.withLock { spare -> (Block?, Int?) in
            guard bytes.count <= most, bytes.count > spare.block?.bytes.count ?? 0 else { return (new, nil) }
            defer { spare.block = new }
            spare.generation += 1
            return (spare.block, spare.generation)
        }
        useless?.bytes.deallocate()
        guard let generation else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + patience) { free(generation) }
    }

    /// Gives the block back to the system that was kept as this one, if it is still here.
    private static func free(_ generation: Int) {
        let idle = spare.withLock { spare -> Block? in
            guard spare.generation == generation else { return nil }
            defer { spare.block = nil }
            return spare.block
        }
        idle?.bytes.deallocate()
    }
}

extension OwnedDescriptor {
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
