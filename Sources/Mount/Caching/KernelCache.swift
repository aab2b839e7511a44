import Fuse

/// What the kernel keeps of what it was told. Never called under a lock that a request needs.
protocol KernelCache: Sendable {
    /// Drops the attributes of an inode, and with an offset of 0 its pages, which waits for reads of them.
    func invalidateInode(_ inode: InodeNumber, offset: Int64, length: Int64)
    /// Drops a name; waits for what is being done to names in the folder.
    func invalidateEntry(parent: InodeNumber, name: Name)
    /// As `invalidateEntry`, and says that the name was removed.
    func deleteEntry(parent: InodeNumber, child: InodeNumber, name: Name)
}

extension Notifier: KernelCache {}
