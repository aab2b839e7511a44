import CLinux
import Glibc
public import System
public import SystemPackage

/// A folder of a store that is held open, to look at several of its entries.
public final class OpenFolder: Sendable {
    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    /// The facts of an entry, a symbolic link's own; nil where there is none.
    public func statusIfPresent(of name: FilePath.Component) throws(Errno) -> FileStatus? {
        var raw = stat()
        let result = name.withPlatformString { name in
            retryingWhenInterrupted { fstatat(descriptor.raw, name, &raw, AT_SYMLINK_NOFOLLOW) }
        }
        if result == 0 { return FileStatus(raw) }
        guard errno == ENOENT else { throw Errno.last }
        return nil
    }

    /// Watches it, where a watch tells of all that happens in it.
    ///
    /// - Parameter events: IN_ flags.
    /// - Returns: the number of the watch; nil on a file system that others change without this machine's knowledge, as one
    ///   of a network, and on one that is not known.
    public func watch(by inotify: Inotify, for events: Int32) throws(Errno) -> CInt? {
        guard Self.local.contains(passdir_file_system_kind(descriptor.raw)) else { return nil }
        // By the descriptor: no link, and no folder that has taken the path meanwhile, is watched instead.
        return try inotify.add(FilePath("/proc/self/fd/\(descriptor.raw)"), events)
    }

    /// File systems of which only this machine's kernel changes anything, by their magic numbers (statfs(2)): ext2 to ext4,
    /// XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs, overlayfs, eCryptfs, FAT, exFAT, ReiserFS, JFS, NILFS, ramfs.
    private static let local: Set<Int64> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E, 0x794C_7630,
        0xF15F, 0x4D44, 0x2011_BAB0, 0x5265_4973, 0x3153_464A, 0x3434, 0x8584_58F6,
    ]
}

extension Root {
    /// Opens a folder to look at its entries.
    public func openFolder(_ path: FilePath) throws(Errno) -> OpenFolder {
        OpenFolder(try open(path, flags: O_PATH_AND_DIRECTORY))
    }
}
