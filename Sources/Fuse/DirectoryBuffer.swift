import CFuse
import Glibc
import SystemPackage

/// The entries that one readdir answers. The kernel says how much room there is.
public struct DirectoryBuffer: ~Copyable {
    private let bytes: UnsafeMutableRawBufferPointer
    private var used = 0
    private let request: fuse_req_t

    init(byteCount: Int, request: fuse_req_t) {
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
        self.request = request
    }

    deinit { bytes.deallocate() }

    /// Adds an entry; false when it didn't fit, and then nothing was added and the answer is complete. "." and
    /// ".." are names like others here: `add(name: ".", …)`; a directory that doesn't add them doesn't show them.
    /// An entry here does not raise the inode's lookup count.
    ///
    /// - Parameter nextOffset: where a later readdir goes on after this entry. Not zero, which is the beginning.
    ///   It must stay good while entries come and go, so not an index into what changes.
    public mutating func add(name: Name, inode: InodeNumber, kind: FileKind, nextOffset: Int64) -> Bool {
        var status = stat()
        status.st_ino = ino_t(inode.rawValue)
        status.st_mode = kind.modeBits
        let room = bytes.count - used
        let needed = name.withPlatformString { name in
            fuse_add_direntry(
                request, bytes.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self), room,
                name,
                &status, off_t(nextOffset))
        }
        guard needed <= room else { return false }
        used += needed
        return true
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: bytes[..<used]))
    }
}
