import Glibc
import System
import SystemPackage

/// The bytes of an index, in memory of our own: read, not mapped, since a mapped file that another program cuts short
/// would end this process.
final class IndexSource {
    /// Where the index lies.
    let index: FilePath
    /// The metadata of the index that was read; nil when there was none: the bytes are those of an empty one then.
    let facts: stat?
    private let memory: UnsafeMutableRawBufferPointer
    /// Held open: the kernel gives the blocks of a file back when its last name and its last descriptor are gone, which
    /// takes milliseconds for a large one; the moment in which the index is replaced is not to be one of them.
    private let file: CInt

    private init(
        _ index: FilePath, _ facts: stat?, _ memory: UnsafeMutableRawBufferPointer, _ file: CInt
    ) {
        (self.index, self.facts, self.memory, self.file) = (index, facts, memory, file)
    }

    static func read(_ index: FilePath) throws(GitError) -> IndexSource {
        guard index.exists || errno != ENOENT else {
            let empty = UnsafeMutableRawBufferPointer.allocate(
                byteCount: IndexScan.empty.count, alignment: 16)
            empty.copyBytes(from: IndexScan.empty)
            return IndexSource(index, nil, empty, -1)
        }
        let doing = "cannot read the index"
        let file = try OwnedDescriptor(opening: index, O_RDONLY, failure: GitError.system(doing))
        let facts = try GitError.wrapping(doing, file.facts())
        let memory = try GitError.wrapping(doing, file.read(facts.st_size))
        return IndexSource(index, facts, memory, file.release())
    }

    deinit {
        memory.deallocate()
        if file >= 0 { close(file) }
    }

    /// Reads an index; where it is damaged, the sentence says which file that is, and how it is made anew: git's own programs
    /// refuse to work with it until it is gone.
    static func namingDamage<R: ~Copyable>(
        of index: FilePath, _ body: () throws(GitError) -> R
    ) throws(GitError) -> R {
        do throws(GitError) {
            return try body()
        } catch {
            guard error.code == .corrupt else { throw error }
            throw GitError(
                code: .corrupt,
                message:
                    "git's index \(index) is damaged (\(error.message)): remove that file and run git reset "
                    + "in the store's folder, which makes it anew")
        }
    }

    /// Lends the whole file. A property would not do: an optimised build may let go of what it was read from last.
    func withBytes<R: ~Copyable>(
        _ body: (UnsafeRawBufferPointer) throws(GitError) -> R
    ) throws(GitError) -> R {
        try withExtendedLifetime(self) { () throws(GitError) in try body(UnsafeRawBufferPointer(memory)) }
    }

    /// The same, to be changed before it is written elsewhere; valid while this lives.
    var writable: UnsafeMutableRawBufferPointer { memory }
}

extension OwnedDescriptor {
    /// The first bytes of a file, in memory that the caller frees: as many as there are, no more than `size`.
    fileprivate borrowing func read(_ size: Int) throws(Errno) -> UnsafeMutableRawBufferPointer {
        guard size <= Self.mostRead else { throw .fileTooLarge }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, 1), alignment: 16)
        var count = 0
        while count < size {
            let got = Glibc.read(raw, memory.baseAddress.map { $0 + count }, size - count)
            if got == 0 { break }
            if got < 0, errno != EINTR {
                memory.deallocate()
                throw .last
            }
            count += max(got, 0)
        }
        // The same block, to be freed by where it begins.
        return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
    }

    /// Writes all of the pieces, one after the other.
    borrowing func writeAll(_ pieces: [UnsafeRawBufferPointer]) throws(Errno) {
        /// As many as writev takes in one call.
        let most = 1024
        var vectors = pieces.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        var next = 0
        while next < vectors.count {
            var left = vectors.withUnsafeBufferPointer {
                writev(raw, $0.baseAddress.map { $0 + next }, CInt(min($0.count - next, most)))
            }
            if left < 0, errno != EINTR { throw .last }
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
