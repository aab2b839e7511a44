import CFuse
import Glibc
import SystemPackage

/// An entry of a directory, as readdir(3) tells it. It does not raise the inode's lookup count.
public struct ListedEntry: Sendable {
    /// Its name.
    public var name: Name
    /// The inode that it has, or will have when it is looked up.
    public var inode: InodeNumber
    /// What it is.
    public var kind: FileKind

    /// Makes an entry.
    public init(name: Name, inode: InodeNumber, kind: FileKind) {
        self.name = name
        self.inode = inode
        self.kind = kind
    }
}

/// The entries that one readdir answers. The kernel says how much room there is.
struct DirectoryBuffer: ~Copyable {
    private let bytes: UnsafeMutableRawBufferPointer
    private var used = 0
    private let request: fuse_req_t
    /// Those whose lookup is counted, for the case that the kernel doesn't take the answer.
    private(set) var entries: [Entry] = []

    init(byteCount: Int, request: fuse_req_t) {
        bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
        self.request = request
    }

    deinit { bytes.deallocate() }

    /// Adds an entry; false when it didn't fit, and then nothing was added.
    mutating func add(_ entry: ListedEntry, nextOffset: Int64) -> Bool {
        var status = stat()
        status.st_ino = ino_t(entry.inode.rawValue)
        status.st_mode = entry.kind.modeBits
        let room = bytes.count - used
        let needed = entry.name.withPlatformString { name in
            fuse_add_direntry(
                request, bytes.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self), room,
                name, &status, off_t(nextOffset))
        }
        guard needed <= room else { return false }
        used += needed
        return true
    }

    /// As above, for a readdirplus.
    mutating func add(_ listed: ListedEntry, _ entry: Entry?, nextOffset: Int64) -> Bool {
        var parameters = fuse_entry_param()
        if let entry {
            parameters = entry.parameters
        } else {
            parameters.attr.st_ino = ino_t(listed.inode.rawValue)
            parameters.attr.st_mode = listed.kind.modeBits
        }
        let room = bytes.count - used
        let needed = listed.name.withPlatformString { name in
            fuse_add_direntry_plus(
                request, bytes.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self), room,
                name, &parameters, off_t(nextOffset))
        }
        guard needed <= room else { return false }
        used += needed
        if let entry { entries.append(entry) }
        return true
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(rebasing: bytes[..<used]))
    }
}
