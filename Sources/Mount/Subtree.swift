import Fuse
import SystemPackage

/// What answers for the names and contents at one place of the mount and below it: the mount point itself (`Top`) and each
/// entry of it, such as a store.
///
/// It is called with nodes, which `StoreFilesystem` has found by their numbers, and knows nothing of libfuse's requests.
/// What it does not implement is refused: a subtree of one file that can be read is `attributes` and `open`.
protocol Subtree: AnyObject, Sendable {
    /// Finds an entry of a folder and counts a lookup of its node; decrypts nothing and asks nobody.
    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry
    /// As `lookup`, of a name that may take long to find; nil where `lookup` finds it at once.
    func lookupLater(
        _ name: Name, in folder: Node, for caller: Caller
    ) throws(Errno) -> PendingReply<Entry>?
    /// The entries of a folder, without "." and "..".
    func entries(of folder: Node) throws(Errno) -> [ListedEntry]
    /// Looks up names of a folder that was just listed, one after the other, as `lookup` does; nil for what the kernel is to
    /// look up itself.
    func listedLookups(in folder: Node) -> (Name) -> Entry?

    /// Whether `entries` lists a folder; else it is opened with `listing`.
    func listsAtOnce(_ folder: Node) -> Bool
    /// The entries of a folder that are found by a look into a secret, for whoever may read that.
    func listing(of folder: Node, for caller: Caller) throws(Errno) -> Reply<[ListedEntry]>

    /// What stat(2) tells; decrypts nothing and asks nobody.
    func attributes(of node: Node) throws(Errno) -> Attributes
    /// What is told of its topmost node when that is looked up. The kernel looks up one name of a folder at a time, so this
    /// waits for no disk.
    func attributesUnseen(of top: Node) throws(Errno) -> Attributes
    /// chmod, chown, truncate, utimensat.
    /// - Parameter isOpen: by a descriptor that the program has open, not by name.
    func setAttributes(
        of node: Node, isOpen: Bool, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno)
    /// The target of a symbolic link.
    func target(of link: Node) throws(Errno) -> [UInt8]
    /// The value of an extended attribute.
    func extendedAttribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8]
    /// statvfs(3).
    func statistics() throws(Errno) -> FileSystemStatistics

    /// open(2) of what is no folder.
    func open(_ node: Node, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<any OpenFile>
    /// open(2) for reading of what can be read already; nil where `open` has to be called.
    func openAtOnce(_ node: Node, _ flags: OpenFlags, for thread: Int32) -> (any OpenFile)?
    /// open(2) with `O_CREAT` of a name that the kernel doesn't know.
    func create(
        _ name: Name, in folder: Node, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, any OpenFile)>

    /// Refuses to change the names in a folder; asked before each of those that follow.
    func checkWritable(_ folder: Node) throws(Errno)
    /// Refuses a change by which somebody could read what he may not; asked before `makeSymbolicLink`, `makeFile` and `unlink`.
    func checkMayChange(_ name: Name, in folder: Node, for caller: Caller) throws(Errno)
    /// mkdir(2).
    func makeDirectory(_ name: Name, in folder: Node) throws(Errno) -> Entry
    /// symlink(2).
    func makeSymbolicLink(_ name: Name, in folder: Node, to target: [UInt8]) throws(Errno) -> Entry
    /// mknod(2) of a regular file.
    func makeFile(_ name: Name, in folder: Node) throws(Errno) -> Entry
    /// unlink(2).
    func unlink(_ name: Name, in folder: Node) throws(Errno)
    /// rmdir(2).
    func removeDirectory(_ name: Name, in folder: Node) throws(Errno)
    /// Refuses a rename by which somebody could read what he may not; asked before `rename`, and ended behind it.
    func checkMove(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) -> RuledMove
    /// renameat2(2) between two folders of this subtree.
    func rename(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags
    ) throws(Errno)
}

extension Subtree {
    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry { throw .notDirectory }
    func lookupLater(
        _ name: Name, in folder: Node, for caller: Caller
    ) throws(Errno) -> PendingReply<Entry>? { nil }
    func entries(of folder: Node) throws(Errno) -> [ListedEntry] { throw .notDirectory }
    func listedLookups(in folder: Node) -> (Name) -> Entry? { { _ in nil } }
    func listsAtOnce(_ folder: Node) -> Bool { true }
    func listing(of folder: Node, for caller: Caller) throws(Errno) -> Reply<[ListedEntry]> {
        .now(try entries(of: folder))
    }
    func openAtOnce(_ node: Node, _ flags: OpenFlags, for thread: Int32) -> (any OpenFile)? { nil }
    func attributesUnseen(of top: Node) throws(Errno) -> Attributes { try attributes(of: top) }
    func setAttributes(
        of node: Node, isOpen: Bool, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) { throw .notPermitted }
    func target(of link: Node) throws(Errno) -> [UInt8] { throw .invalidArgument }
    func extendedAttribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8] {
        throw .noData
    }
    func statistics() throws(Errno) -> FileSystemStatistics { FileSystemStatistics(maximumNameLength: 251) }
    func open(_ node: Node, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<any OpenFile> {
        throw .isDirectory
    }
    func create(
        _ name: Name, in folder: Node, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, any OpenFile)> { throw .notPermitted }
    func checkWritable(_ folder: Node) throws(Errno) { throw .notPermitted }
    func checkMayChange(_ name: Name, in folder: Node, for caller: Caller) throws(Errno) {}
    func checkMove(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags,
        for caller: Caller
    ) throws(Errno) -> RuledMove { .free }
    func makeDirectory(_ name: Name, in folder: Node) throws(Errno) -> Entry { throw .notPermitted }
    func makeSymbolicLink(_ name: Name, in folder: Node, to target: [UInt8]) throws(Errno) -> Entry {
        throw .notPermitted
    }
    func makeFile(_ name: Name, in folder: Node) throws(Errno) -> Entry { throw .notPermitted }
    func unlink(_ name: Name, in folder: Node) throws(Errno) { throw .notPermitted }
    func removeDirectory(_ name: Name, in folder: Node) throws(Errno) { throw .notPermitted }
    func rename(
        _ oldName: Name, in source: Node, to newName: Name, in destination: Node, flags: RenameFlags
    ) throws(Errno) { throw .notPermitted }
}

/// A subtree in which nothing can be changed.
protocol ReadOnlySubtree: Subtree {}

extension ReadOnlySubtree {
    func checkWritable(_ folder: Node) throws(Errno) { throw .readOnlyFileSystem }

    func create(
        _ name: Name, in folder: Node, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, any OpenFile)> { throw .readOnlyFileSystem }

    func setAttributes(
        of node: Node, isOpen: Bool, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) { throw .readOnlyFileSystem }
}
