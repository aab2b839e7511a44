import CGcrypt
import Glibc
import Synchronization
import System
import SystemPackage

/// The SHA-1 that ends an index, and a pack. libgcrypt computes it with the processor's own instructions, several times as fast as
/// libgit2, whose SHA-1 looks for forged collisions too: an index is our own file, not one that somebody sent.
struct IndexChecksum: ~Copyable {
    /// Its bytes at the end of the index.
    static let length = 20

    /// libgcrypt wants to be asked for its version before all else.
    private static let started: Void = { gcry_check_version(nil) }()

    private let state: gcry_md_hd_t

    init() throws(GitError) {
        _ = Self.started
        var made: gcry_md_hd_t?
        let code = gcry_md_open(&made, CInt(GCRY_MD_SHA1.rawValue), 0)
        guard code == 0, let made else {
            throw GitError(code: .unsupported, message: "libgcrypt does not provide SHA-1 on this machine")
        }
        state = made
    }

    deinit {
        gcry_md_close(state)
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        if let start = bytes.baseAddress { gcry_md_write(state, start, bytes.count) }
    }

    /// The checksum of what was added; nothing can be added after it.
    func result() -> [UInt8] {
        guard let bytes = gcry_md_read(state, CInt(GCRY_MD_SHA1.rawValue)) else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: Self.length))
    }

    // MARK: the checksum of a file that was read

    /// Which indexes are known to be whole, because we wrote or checked them: the next commit need not read 10 MB of
    /// its own again.
    private static let known = Mutex<[FilePath: FileIdentity]>([:])

    /// The index at `path` has a right checksum while it has this metadata.
    static func remember(_ path: FilePath, _ facts: stat) {
        known.withLock {
            // Of more repositories than anybody works in at a time the oldest news is as good as none.
            if $0.count >= 64 { $0 = [:] }
            $0[path] = FileIdentity(facts)
        }
    }

    /// - Throws: `.corrupt` when the bytes do not have the checksum that ends them.
    static func verify(_ path: FilePath, _ facts: stat, _ bytes: UnsafeRawBufferPointer) throws(GitError) {
        if isAbsent(bytes) || known.withLock({ $0[path] }) == FileIdentity(facts) { return }
        guard try matches(bytes) else { throw IndexScan.damaged("its checksum does not match") }
        remember(path, facts)
    }

    /// Whether the bytes end with their checksum.
    static func matches(_ bytes: UnsafeRawBufferPointer) throws(GitError) -> Bool {
        let checksum = try IndexChecksum()
        checksum.add(UnsafeRawBufferPointer(rebasing: bytes.dropLast(length)))
        return checksum.result().elementsEqual(bytes.suffix(length))
    }

    /// Whether the one who wrote the index left the checksum out, as `index.skipHash` makes git do.
    static func isAbsent(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.suffix(length).allSatisfy { $0 == 0 }
    }
}
