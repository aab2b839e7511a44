import Dispatch
import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage

/// What the subtrees of one mount share: the nodes that the kernel knows, and the way to tell it of changes.
final class MountState: Sendable {
    /// For how many seconds the kernel goes on with what it was told of names and attributes: long enough for a program to
    /// work through a folder that it has listed, too short to run a command that changes something and look again.
    ///
    /// So long it keeps names and attributes of folders and files; of what is in memory only, and of links, nothing.
    static let timeout = 0.05

    let tree = Tree()
    let options: StoreFilesystem.Options
    let scratchNames: ScratchNames
    let scratchMemory: ScratchMemory
    let kernel = Mutex<(any KernelCache)?>(nil)
    let cacheTime: CacheTime
    /// Contents that nobody has open.
    let kept: KeptContents
    /// Notifies the kernel, and ends grace times.
    let background = DispatchQueue(label: "passdir.background")
    let userID = geteuid()
    let groupID = getegid()
    private let started = FileTime.now

    init(options: StoreFilesystem.Options) {
        self.options = options
        scratchNames = ScratchNames(additional: options.scratchPatterns)
        scratchMemory = ScratchMemory(limit: options.scratchLimit)
        cacheTime = CacheTime(options.cacheTime)
        kept = KeptContents(for: cacheTime, queue: background)
    }

    /// What stat(2) tells of a node. `times` are those of a file on disk; without it, the mount's.
    func attributes(
        of node: Node, permissions: UInt16, links: UInt64 = 1, size: Int64 = 0, times: FileStatus? = nil
    ) -> Attributes {
        node.noteTold(size)
        let modified = times?.identity.modified ?? started
        return Attributes(
            inode: node.inode, kind: node.fileKind, permissions: permissions, linkCount: links,
            userID: userID, groupID: groupID, size: size, accessTime: times?.accessed ?? modified,
            modificationTime: modified, changeTime: times?.identity.changed ?? modified)
    }

    /// Owner and mode are fixed: what asks for no other owner and leaves the owner's own access alone succeeds and
    /// changes nothing, as programs that copy modes expect; anything else would be a promise we don't keep.
    func checkOwnership(_ changes: AttributeChanges) throws(Errno) {
        if let user = changes.userID, user != userID { throw .notPermitted }
        if let group = changes.groupID, group != groupID { throw .notPermitted }
        if let permissions = changes.permissions, permissions & 0o7000 != 0 { throw .notPermitted }
    }

    /// Before a file is open: the kernel ends a read where it takes the file to end.
    func correctSize(of node: Node, to size: Int64) {
        if node.toldSize.load(ordering: .acquiring) != size { forgetAttributes(of: node) }
    }

    /// As `correctSize`, once for each content: while the kernel asks for the size it must not be told to ask again, as it passes
    /// over an answer to what it asked before.
    func settleSize(of node: Node, to size: Int64) {
        if node.mayBeTakenToHaveAnotherSize(than: size) { forgetAttributes(of: node) }
    }

    /// What the kernel was told of the attributes of a node is no longer so. It waits for nothing, so that a request of
    /// this very node may call it.
    func forgetAttributes(of node: Node) {
        kernel.withLock { $0 }?.invalidateInode(node.inode, offset: -1, length: 0)
    }

    /// Drops the kernel's pages of a plaintext. From another thread than the one that serves a request.
    func forgetPages(of node: Node) {
        guard let kernel = kernel.withLock({ $0 }) else { return }
        let inode = node.inode
        background.async { kernel.invalidateInode(inode, offset: 0, length: 0) }
    }
}
