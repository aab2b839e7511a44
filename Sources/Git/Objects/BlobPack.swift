import CGit
import Glibc
import SystemPackage

extension Repository {
    /// From so many blobs on they are written as one pack: a file and two syncs of the disk for all of them, not for
    /// each. `git gc` packs them anew with the rest.
    private static let fewestInPack = 32

    /// Writes blobs; durable on return.
    func write(blobs: [[UInt8]]) throws(GitError) {
        let folder = commonDirectory.pushing("objects/pack")
        // Whoever copies a repository may leave out folders with nothing in them.
        guard blobs.count >= Self.fewestInPack, folder.withPlatformString({ access($0, W_OK) }) == 0 else {
            for blob in blobs { _ = try writeBlob(blob) }
            return
        }
        let database = try Owned("cannot open the objects", free: git_odb_free) {
            git_repository_odb(&$0, pointer)
        }
        // What the repository remembers may be gone by now.
        let stock = try ObjectReader(fresh: self)
        var pack = BlobPack()
        var seen: Set<ObjectID> = []
        for blob in blobs {
            let id = try Self.blobID(of: blob)
            if !stock.has(id), seen.insert(id).inserted { pack.add(blob) }
        }
        guard pack.count > 0 else { return }
        _ = try pack.write(into: folder, database.pointer)
        // The trees that are written next name its blobs.
        try check(git_odb_refresh(database.pointer), "cannot read the new pack")
    }
}

/// The bytes of a pack (gitformat-pack, version 2) of blobs, or other objects: each whole, none as a difference to another. Ciphertext does
/// not get smaller, so it is stored as it is, in the form that zlib has for that (RFC 1950, RFC 1951 3.2.4).
struct BlobPack {
    private(set) var count = 0
    private var bytes: [UInt8] = Array("PACK".utf8) + [0, 0, 0, 2, 0, 0, 0, 0]

    mutating func add(_ blob: [UInt8], kind: git_object_t = GIT_OBJECT_BLOB) {
        count += 1
        addHead(length: blob.count, kind: UInt8(kind.rawValue))
        bytes += [0x78, 0x01]
        var position = 0
        repeat {
            let part = blob[position..<min(position + 0xffff, blob.count)]
            position = part.endIndex
            let length = UInt16(part.count)
            bytes.append(position == blob.count ? 1 : 0)
            for number in [length, ~length] { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
            bytes += part
        } while position < blob.count
        withUnsafeBytes(of: Self.adler32(blob).bigEndian) { bytes += $0 }
    }

    /// The kind of object, numbered as libgit2 does (a commit is 1, a tree 2, a blob 3), and its length: four bits, then
    /// seven at a time, the lowest first.
    private mutating func addHead(length: Int, kind: UInt8) {
        var byte = kind << 4 | UInt8(length & 0xf)
        var rest = length >> 4
        while rest > 0 {
            bytes.append(byte | 0x80)
            byte = UInt8(rest & 0x7f)
            rest >>= 7
        }
        bytes.append(byte)
    }

    /// Writes the pack and its index into a folder, durably; gives their name without a suffix.
    /// - Parameter database: where objects are that the pack does not hold; nil: there are none.
    func write(into folder: FilePath, _ database: OpaquePointer?) throws(GitError) -> String {
        let doing = "cannot write a pack"
        let bytes = try finished()
        let indexer = try Owned(doing, free: git_indexer_free) { made in
            folder.withPlatformString { git_indexer_new(&made, $0, 0, database, nil) }
        }
        var progress = git_indexer_progress()
        try check(
            withBytes(bytes) { git_indexer_append(indexer.pointer, $0, bytes.count, &progress) }, doing)
        try check(git_indexer_commit(indexer.pointer, &progress), doing)
        return git_indexer_name(indexer.pointer).map { "pack-" + String(cString: $0) } ?? ""
    }

    /// The whole pack, with its number of objects and its checksum.
    func finished() throws(GitError) -> [UInt8] {
        var whole = bytes
        withUnsafeBytes(of: UInt32(count).bigEndian) { whole.replaceSubrange(8..<12, with: $0) }
        let checksum = try IndexChecksum()
        whole.withUnsafeBytes { checksum.add($0) }
        return whole + checksum.result()
    }

    /// zlib's checksum (RFC 1950, 8.2).
    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        var position = 0
        while position < bytes.count {
            // As many as fit before `high` could overflow.
            let end = min(position + 5552, bytes.count)
            for byte in bytes[position..<end] {
                low += UInt32(byte)
                high += low
            }
            low %= 65521
            high %= 65521
            position = end
        }
        return high << 16 | low
    }
}
