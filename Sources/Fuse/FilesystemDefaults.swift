public import SystemPackage

/// A file system that does nothing yet. What takes something back has no default here: were its name or its arguments
/// mistaken, nobody would notice that it is never called.
extension Filesystem {
    /// Does nothing.
    public func mounted(_ notifier: Notifier) {}
    /// Does nothing.
    public func unmounted() {}
    /// Throws `noFunction`.
    public func lookup(_ request: Request, in parent: InodeNumber, name: Name) throws(Errno) -> Entry {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func attributes(
        _ request: Request, of inode: InodeNumber, handle: HandleNumber?
    ) throws(Errno) -> (Attributes, timeout: Double) { throw .noFunction }
    /// Throws `noFunction`.
    public func setAttributes(
        _ request: Request, of inode: InodeNumber, handle: HandleNumber?, _ changes: AttributeChanges
    ) throws(Errno) -> (Attributes, timeout: Double) { throw .noFunction }
    /// Throws `noFunction`.
    public func readSymbolicLink(_ request: Request, _ inode: InodeNumber) throws(Errno) -> [UInt8] {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func makeDirectory(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry { throw .noFunction }
    /// Throws `noFunction`.
    public func makeSymbolicLink(
        _ request: Request, in parent: InodeNumber, name: Name, target: [UInt8]
    ) throws(Errno) -> Entry { throw .noFunction }
    /// Throws `noFunction`.
    public func makeNode(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry { throw .noFunction }
    /// Throws `noFunction`.
    public func link(
        _ request: Request, _ inode: InodeNumber, to parent: InodeNumber, name: Name
    ) throws(Errno) -> Entry { throw .noFunction }
    /// Throws `noFunction`.
    public func unlink(_ request: Request, in parent: InodeNumber, name: Name) throws(Errno) {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func removeDirectory(_ request: Request, in parent: InodeNumber, name: Name) throws(Errno) {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func rename(
        _ request: Request, from parent: InodeNumber, _ oldName: Name, to newParent: InodeNumber,
        _ newName: Name, flags: RenameFlags
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func open(
        _ request: Request, _ inode: InodeNumber, flags: OpenFlags
    ) throws(Errno) -> Reply<Opened> { throw .noFunction }
    /// Throws `noFunction`.
    public func create(
        _ request: Request, in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags
    ) throws(Errno) -> Reply<(Entry, Opened)> { throw .noFunction }
    /// Throws `noFunction`.
    public func read(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func write(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        bytes: UnsafeRawBufferPointer, isFromPageCache: Bool
    ) throws(Errno) -> Int { throw .noFunction }
    /// Throws `noFunction`.
    public func flush(_ request: Request, _ inode: InodeNumber, handle: HandleNumber) throws(Errno) {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func synchronize(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func openDirectory(_ request: Request, _ inode: InodeNumber, flags: OpenFlags) throws(Errno)
        -> Opened
    { throw .noFunction }
    /// Throws `noFunction`.
    public func readDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        into buffer: inout DirectoryBuffer
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func synchronizeDirectory(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func statistics(_ request: Request, _ inode: InodeNumber) throws(Errno) -> FileSystemStatistics {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func extendedAttribute(
        _ request: Request, _ inode: InodeNumber, name: [UInt8]
    ) throws(Errno) -> [UInt8] { throw .noFunction }
    /// Throws `noFunction`.
    public func extendedAttributeNames(_ request: Request, _ inode: InodeNumber) throws(Errno) -> [[UInt8]] {
        throw .noFunction
    }
    /// Throws `noFunction`.
    public func setExtendedAttribute(
        _ request: Request, _ inode: InodeNumber, name: [UInt8], value: UnsafeRawBufferPointer,
        flags: ExtendedAttributeFlags
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func removeExtendedAttribute(_ request: Request, _ inode: InodeNumber, name: [UInt8]) throws(Errno)
    { throw .noFunction }
    /// Throws `noFunction`.
    public func allocate(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64,
        length: Int64
    ) throws(Errno) { throw .noFunction }
    /// Throws `noFunction`.
    public func seek(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64 { throw .noFunction }
}
