import Glibc

/// What statvfs(3) and df(1) show.
public struct FileSystemStatistics: Sendable {
    /// The preferred block size in bytes.
    public var blockSize: UInt64
    /// The unit of the block counts below, in bytes.
    public var fragmentSize: UInt64
    /// All blocks.
    public var blocks: UInt64
    /// Blocks that are free.
    public var freeBlocks: UInt64
    /// Blocks that are free for ordinary users.
    public var availableBlocks: UInt64
    /// All inodes.
    public var files: UInt64
    /// Inodes that are free.
    public var freeFiles: UInt64
    /// Inodes that are free for ordinary users.
    public var availableFiles: UInt64
    /// The longest name of a directory entry, in bytes.
    public var maximumNameLength: UInt64

    /// Makes statistics; what isn't given is zero, which df(1) shows as "-".
    public init(
        blockSize: UInt64 = 4096, fragmentSize: UInt64 = 4096, blocks: UInt64 = 0, freeBlocks: UInt64 = 0,
        availableBlocks: UInt64 = 0, files: UInt64 = 0, freeFiles: UInt64 = 0, availableFiles: UInt64 = 0,
        maximumNameLength: UInt64 = 255
    ) {
        self.blockSize = blockSize
        self.fragmentSize = fragmentSize
        self.blocks = blocks
        self.freeBlocks = freeBlocks
        self.availableBlocks = availableBlocks
        self.files = files
        self.freeFiles = freeFiles
        self.availableFiles = availableFiles
        self.maximumNameLength = maximumNameLength
    }

    var status: statvfs {
        var status = statvfs()
        status.f_bsize = UInt(blockSize)
        status.f_frsize = UInt(fragmentSize)
        status.f_blocks = fsblkcnt_t(blocks)
        status.f_bfree = fsblkcnt_t(freeBlocks)
        status.f_bavail = fsblkcnt_t(availableBlocks)
        status.f_files = fsfilcnt_t(files)
        status.f_ffree = fsfilcnt_t(freeFiles)
        status.f_favail = fsfilcnt_t(availableFiles)
        status.f_namemax = UInt(maximumNameLength)
        return status
    }
}
