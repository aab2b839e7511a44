public import SystemPackage

/// What a file system answers. A session calls it from several threads at once.
///
/// Two sorts of threads call. Whatever makes, opens, saves or removes (marked "may block") comes on a thread of
/// its own and may take as long as it needs; see `Caller.onInterrupt`. So does what looks at names and files while others
/// look in the same lane. All else comes on the few threads that receive requests and must answer at once: while it waits,
/// so do others.
///
/// It knows nothing of libfuse: its operations can be called in process.
public protocol Filesystem: AnyObject, Sendable {
    /// The kernel and the session agree; requests are served as soon as this returns. Use nothing of the mount here.
    func mounted(_ notifier: Notifier)
    /// The mount is gone and every request answered. Called once, at the end of `Session.run`, in any case.
    func unmounted()

    /// What an operation on an inode may have to wait for, as others that have the same lane; nil where it waits for nothing.
    func lane(of inode: InodeNumber) -> RequestLane?

    /// Resolves a name. On success the inode's lookup count is one higher.
    func lookup(in parent: InodeNumber, name: Name) throws(Errno) -> Entry
    /// As `lookup`, of a name that may take long to find: such an answer comes later, and holds no thread meanwhile.
    func lookup(in parent: InodeNumber, name: Name, for caller: Caller) throws(Errno) -> Reply<Entry>
    /// Lowers the lookup count. At zero the kernel no longer uses the number. At unmount these calls may not come.
    func forget(_ inode: InodeNumber, count: UInt64)
    /// stat(2), and for how many seconds the kernel may repeat the answer.
    func attributes(
        of inode: InodeNumber, handle: HandleNumber?
    ) throws(Errno) -> (Attributes, timeout: Double)
    /// chmod, chown, truncate, utimensat; may block. With a handle where the program has the file open.
    func setAttributes(
        of inode: InodeNumber, handle: HandleNumber?, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) -> (Attributes, timeout: Double)
    /// The target of a symbolic link, without NUL.
    func readSymbolicLink(_ inode: InodeNumber) throws(Errno) -> [UInt8]

    /// mkdir(2); may block.
    func makeDirectory(
        in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry
    /// symlink(2); may block.
    func makeSymbolicLink(
        in parent: InodeNumber, name: Name, target: [UInt8], for caller: Caller
    ) throws(Errno) -> Entry
    /// mknod(2) of a regular file, which is a create without an open; may block. Devices, pipes and sockets are
    /// refused with EPERM before they come here.
    func makeNode(
        in parent: InodeNumber, name: Name, permissions: UInt16, for caller: Caller
    ) throws(Errno) -> Entry
    /// link(2); may block.
    func link(
        _ inode: InodeNumber, to parent: InodeNumber, name: Name
    ) throws(Errno) -> Entry
    /// unlink(2); may block. The inode lives on until it is forgotten.
    func unlink(in parent: InodeNumber, name: Name, for caller: Caller) throws(Errno)
    /// rmdir(2); may block.
    func removeDirectory(in parent: InodeNumber, name: Name) throws(Errno)
    /// renameat2(2); may block. Refuse unknown flags with `invalidArgument`.
    func rename(
        from parent: InodeNumber, _ oldName: Name, to newParent: InodeNumber,
        _ newName: Name, flags: RenameFlags, for caller: Caller
    ) throws(Errno)

    /// open(2) of what exists; may block. What waits for a person replies later, so that any number may wait.
    func open(_ inode: InodeNumber, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<Opened>
    /// As `open`, where it waits for nothing; nil where it may, and then `open` is asked. Called by a receiver itself, so that
    /// no other thread has to be woken.
    /// - Parameter thread: the caller's, as `Caller.processID` tells it.
    func openAtOnce(_ inode: InodeNumber, flags: OpenFlags, for thread: Int32) -> Opened?
    /// open(2) with `O_CREAT` of a name that the kernel doesn't know; may block. It may exist nevertheless, and is
    /// then opened.
    func create(
        in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, Opened)>
    /// read(2). Calls `reply` exactly once, with at most `count` bytes, fewer only at the end of the file. They
    /// need to be valid during that call only: they are in the kernel when it returns.
    func read(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno)
    /// write(2): how many bytes were taken, which is all or an error. `bytes` lie in the receive memory and are
    /// wiped afterwards. From the page cache (mmap) the caller and the handle may be another's.
    func write(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        bytes: UnsafeRawBufferPointer, isFromPageCache: Bool
    ) throws(Errno) -> Int
    /// close(2) of one of the descriptors of an open file; may block. Its error is what close(2) returns.
    func flush(_ inode: InodeNumber, handle: HandleNumber, for caller: Caller) throws(Errno)
    /// The last descriptor is closed; may block, and nobody waits for it. Exactly once for each open and create,
    /// at the latest before `unmounted`.
    func release(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags)
    /// fsync(2), or fdatasync(2) with `dataOnly`; may block.
    func synchronize(
        _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno)

    /// opendir(3) where it waits for nothing; nil where it may, and then `openDirectory` is asked.
    func openDirectoryAtOnce(_ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened?
    /// opendir(3); may block. What waits for a person replies later.
    func openDirectory(
        _ inode: InodeNumber, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<Opened>
    /// readdir(3) from `offset`, which is zero or a `nextOffset` of an earlier call on this handle. `add` is false when
    /// the entry didn't fit; then the answer is complete. Adding none says that the directory is at its end. "." and ".."
    /// are names like others: a directory that doesn't add them doesn't show them.
    ///
    /// A `nextOffset` tells where a later call goes on after the entry. It is not zero, which is the beginning, and must
    /// stay good while entries come and go.
    func readDirectory(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, _ nextOffset: Int64) -> Bool
    ) throws(Errno)
    /// As `readDirectory`, with what a lookup of the entry would answer, and counted as one: then the kernel asks neither
    /// for the name nor for its attributes. Without an entry it looks the name up when it needs it; that is so of `.` and
    /// `..`. What `add` had no room for is to be given back by `add`'s caller.
    func readDirectoryWithEntries(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, Entry?, _ nextOffset: Int64) -> Bool
    ) throws(Errno)
    /// closedir(3). Exactly once for each opendir(3).
    func releaseDirectory(_ inode: InodeNumber, handle: HandleNumber)
    /// fsync(2) of a directory; may block.
    func synchronizeDirectory(
        _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno)

    /// statvfs(3).
    func statistics(_ inode: InodeNumber) throws(Errno) -> FileSystemStatistics

    /// getxattr(2). What doesn't fit into the caller's buffer, and a question for the size only, Fuse settles.
    func extendedAttribute(
        _ inode: InodeNumber, name: [UInt8]
    ) throws(Errno) -> [UInt8]
    /// listxattr(2): the names, without NUL.
    func extendedAttributeNames(_ inode: InodeNumber) throws(Errno) -> [[UInt8]]
    /// setxattr(2). `value` lies in the receive memory.
    func setExtendedAttribute(
        _ inode: InodeNumber, name: [UInt8], value: UnsafeRawBufferPointer,
        flags: ExtendedAttributeFlags
    ) throws(Errno)
    /// removexattr(2).
    func removeExtendedAttribute(_ inode: InodeNumber, name: [UInt8]) throws(Errno)

    /// fallocate(2); may block. `mode` has its FALLOC_FL_ flags.
    func allocate(
        _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64,
        length: Int64
    ) throws(Errno)
    /// lseek(2) with `SEEK_DATA` or `SEEK_HOLE`; the other kinds the kernel knows by itself.
    func seek(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64
}

extension Filesystem {
    /// Nothing is waited for that would be no other's.
    public func lane(of inode: InodeNumber) -> RequestLane? { nil }

    /// Every name is found at once.
    public func lookup(
        in parent: InodeNumber, name: Name, for caller: Caller
    ) throws(Errno) -> Reply<Entry> { .now(try lookup(in: parent, name: name)) }
}
