public import Fuse
import Stores
import Synchronization
public import SystemPackage

/// Each operation of the kernel goes to the subtree that its inode lies in, or to the file that is open.
extension StoreFilesystem: Filesystem {
    /// The kernel can be notified from now on.
    public func mounted(_ notifier: Notifier) {
        mount.kernel.withLock { $0 = notifier }
    }

    /// The kernel is gone; nothing is notified any more.
    public func unmounted() {
        mount.kernel.withLock { $0 = nil }
        mount.kept.forgetAll { _ in true }
        control.past?.contents.forgetKept { _ in true }
    }

    /// Each store waits for its own disk; so do those who look into its control directory, and the mount point for none.
    public func lane(of inode: InodeNumber) -> RequestLane? {
        guard let node = try? tree.node(inode) else { return nil }
        return RequestLane(node.subtree ?? top)
    }

    /// Finds an entry of a folder; decrypts nothing and prompts for nothing.
    public func lookup(in parent: InodeNumber, name: Name) throws(Errno) -> Entry {
        let (folder, subtree) = try find(parent)
        return try subtree.lookup(name, in: folder)
    }

    /// As above; what is found in a store's history comes later.
    public func lookup(
        in parent: InodeNumber, name: Name, for caller: Caller
    ) throws(Errno) -> Reply<Entry> {
        let (folder, subtree) = try find(parent)
        if let later = try subtree.lookupLater(name, in: folder, for: caller) { return .later(later) }
        return .now(try subtree.lookup(name, in: folder))
    }

    /// The kernel gives back lookups of a node.
    public func forget(_ inode: InodeNumber, count: UInt64) {
        tree.forget(inode, count: count)
    }

    /// stat(2): decrypts nothing and prompts for nothing. Of folders the kernel keeps it for a moment, as it checks them again
    /// for each file below.
    public func attributes(
        of inode: InodeNumber, handle: HandleNumber?
    ) throws(Errno) -> (Attributes, timeout: Double) {
        let (node, subtree) = try find(inode)
        return (try subtree.attributes(of: node), node.fileKind == .directory ? MountState.timeout : 0)
    }

    /// truncate(2), utimensat(2), and changes of owner and mode that change nothing of substance.
    public func setAttributes(
        of inode: InodeNumber, handle: HandleNumber?, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) -> (Attributes, timeout: Double) {
        let (node, subtree) = try find(inode)
        try subtree.setAttributes(of: node, isOpen: handle != nil, changes, for: caller)
        return (try subtree.attributes(of: node), 0)
    }

    /// readlink(2): a link that leads out of its store is EACCES.
    public func readSymbolicLink(_ inode: InodeNumber) throws(Errno) -> [UInt8] {
        let (node, subtree) = try find(inode)
        return try subtree.target(of: node)
    }

    /// mkdir(2), durable on return.
    public func makeDirectory(
        in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry {
        let (folder, subtree) = try findWritable(parent)
        return try subtree.makeDirectory(name, in: folder)
    }

    /// symlink(2): inside the store, else EPERM; a link to a secret is made as pass would make it.
    public func makeSymbolicLink(
        in parent: InodeNumber, name: Name, target: [UInt8], for caller: Caller
    ) throws(Errno) -> Entry {
        let (folder, subtree) = try findWritable(parent)
        try subtree.checkMayChange(name, in: folder, for: caller)
        return try subtree.makeSymbolicLink(name, in: folder, to: target)
    }

    /// mknod(2) of a regular file: nobody closes it, so it is saved right now, empty.
    public func makeNode(
        in parent: InodeNumber, name: Name, permissions: UInt16, for caller: Caller
    ) throws(Errno) -> Entry {
        let (folder, subtree) = try findWritable(parent)
        try subtree.checkMayChange(name, in: folder, for: caller)
        return try subtree.makeFile(name, in: folder)
    }

    /// link(2): EPERM. One secret, one name: programs fall back to rename.
    public func link(_ inode: InodeNumber, to parent: InodeNumber, name: Name) throws(Errno) -> Entry {
        throw .notPermitted
    }

    /// unlink(2), durable on return; open handles go on with what they have.
    public func unlink(in parent: InodeNumber, name: Name, for caller: Caller) throws(Errno) {
        let (folder, subtree) = try findWritable(parent)
        try subtree.checkMayChange(name, in: folder, for: caller)
        try subtree.unlink(name, in: folder)
    }

    /// rmdir(2): only what is empty on disk, too.
    public func removeDirectory(in parent: InodeNumber, name: Name) throws(Errno) {
        let (folder, subtree) = try findWritable(parent)
        try subtree.removeDirectory(name, in: folder)
    }

    /// rename(2), durable on return: EXDEV between stores, for a folder to where other recipients apply, and for
    /// a secret for which a passphrase would have to be asked, or that the caller may not read, to where other rules apply.
    public func rename(
        from: InodeNumber, _ oldName: Name, to: InodeNumber, _ newName: Name, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) {
        let (source, subtree) = try findWritable(from)
        let (destination, other) = try findWritable(to)
        guard subtree === other else { throw .improperLink }
        let move = try subtree.checkMove(
            oldName, in: source, to: newName, in: destination, flags: flags, for: caller)
        defer { move.end() }
        try subtree.rename(oldName, in: source, to: newName, in: destination, flags: flags)
    }

    /// Opens a secret: decrypts it, unless it is truncated (waits for a passphrase, EINTR ends the wait); a plain file is
    /// read-only (EACCES).
    public func open(
        _ inode: InodeNumber, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<Opened> {
        let (node, subtree) = try find(inode)
        let reply = try subtree.open(node, flags: flags, for: caller)
        guard case .later = reply else { return try reply.map { $0.map { self.opened($0) } } }
        let wait = waits.begin(caller.processID, node)
        return try reply.map { result in
            self.waits.end(wait)
            return result.map { self.opened($0) }
        }
    }

    /// Makes a secret or scratch file; it reaches the disk when it is flushed, synchronized or closed.
    public func create(
        in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, Opened)> {
        let (folder, subtree) = try find(parent)
        return try subtree.create(name, in: folder, flags: flags, for: caller).map { created in
            created.map { ($0.0, self.opened($0.1)) }
        }
    }

    private func opened(_ file: any OpenFile) -> Opened {
        let isInKernel = file.isInKernel
        return Opened(
            handle: handles.add(.file(file)), directIO: file.isReadDirectly, keepCache: isInKernel,
            noFlush: !file.isWritable)
    }

    /// Opens what needs no decryption, and nothing else that could wait for long; nil where that is not so.
    public func openAtOnce(_ inode: InodeNumber, flags: OpenFlags, for thread: Int32) -> Opened? {
        guard !flags.isWritable, !flags.truncates, let (node, subtree) = try? find(inode) else { return nil }
        return subtree.openAtOnce(node, flags, for: thread).map { opened($0) }
    }

    /// Hands out bytes of what was opened.
    public func read(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        if case .directory = handles[handle] { throw .isDirectory }
        try handles.file(handle).read(at: Int(clamping: offset), count: count, reply)
    }

    /// Changes the content in memory: EFBIG beyond `limits.secret`, ENOSPC where scratch files take too much.
    public func write(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, bytes: UnsafeRawBufferPointer,
        isFromPageCache: Bool
    ) throws(Errno) -> Int {
        try handles.file(handle).write(bytes, at: Int(clamping: offset), isFromPageCache: isFromPageCache)
        return bytes.count
    }

    /// One descriptor of a file is closed: what was written is saved, and the save's error is close()'s.
    public func flush(_ inode: InodeNumber, handle: HandleNumber, for caller: Caller) throws(Errno) {
        guard case .file(let file) = handles[handle] else { return }
        try file.flush(for: caller)
    }

    /// fsync(2): saves what was edited, also an empty content.
    public func synchronize(_ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool) throws(Errno) {
        guard case .file(let file) = handles[handle] else { return }
        try file.synchronize()
    }

    /// The last descriptor is closed: what no flush has saved is saved.
    public func release(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags) {
        guard case .file(let file) = handles.remove(handle) else { return }
        file.close()
    }

    /// fallocate(2): makes a file longer, or zeroes a part of it.
    public func allocate(
        _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64, length: Int64
    ) throws(Errno) {
        try handles.file(handle).allocate(mode: mode, offset: offset, length: length)
    }

    /// lseek(2) for data and holes: all is data, up to the one hole at the end.
    public func seek(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64 {
        let size = try handles.file(handle).size
        guard offset >= 0, offset < size else { throw .noSuchAddressOrDevice }
        // SEEK_DATA 3, SEEK_HOLE 4.
        switch whence {
        case 3: return offset
        case 4: return size
        default: throw .invalidArgument
        }
    }

    /// statvfs(2) of the file system that holds the store.
    public func statistics(_ inode: InodeNumber) throws(Errno) -> FileSystemStatistics {
        try find(inode).subtree.statistics()
    }

    /// getxattr(2): ENODATA for what a thing does not have. Of access lists, capabilities and labels there are none
    /// anywhere here: `ls -l` asks for those of each file until it hears EOPNOTSUPP.
    public func extendedAttribute(_ inode: InodeNumber, name: [UInt8]) throws(Errno) -> [UInt8] {
        guard name.starts(with: Self.userAttributes) else { throw .notSupportedOnSocket }
        let (node, subtree) = try find(inode)
        return try subtree.extendedAttribute(name, of: node)
    }

    private static let userAttributes = Array("user.".utf8)

    /// listxattr(2): none. `mv` and `cp -a` copy what is listed, and fail where it cannot be set; these tell of this file in
    /// this place, so that a copy of them would be wrong anywhere. Ceph does not list its own either.
    public func extendedAttributeNames(_ inode: InodeNumber) throws(Errno) -> [[UInt8]] {
        _ = try tree.node(inode)
        return []
    }

    /// setxattr(2): EOPNOTSUPP, a ciphertext has no place for it; also of what tells of a secret, which mv(1) then leaves
    /// out without a word.
    public func setExtendedAttribute(
        _ inode: InodeNumber, name: [UInt8], value: UnsafeRawBufferPointer, flags: ExtendedAttributeFlags
    ) throws(Errno) {
        throw .notSupportedOnSocket
    }

    /// removexattr(2): what tells of a secret cannot be taken away.
    public func removeExtendedAttribute(_ inode: InodeNumber, name: [UInt8]) throws(Errno) {
        throw TellingAttribute(name) == nil ? .noData : .notPermitted
    }
}
