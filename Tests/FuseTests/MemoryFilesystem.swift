import Fuse
import Glibc
import Synchronization
import System
import SystemPackage

/// A file system in memory, as simple as one can be that programs believe in.
final class MemoryFilesystem: Filesystem {
    struct Node {
        var attributes: Attributes
        var bytes: [UInt8] = []
        /// Of a directory: its entries, in the order of their offsets, which are never used again.
        var entries: [(offset: Int64, name: Name, inode: InodeNumber)] = []
        var nextOffset: Int64 = 3
        var extended: [[UInt8]: [UInt8]] = [:]
        var lookups: UInt64 = 0
    }

    struct State {
        var nodes: [InodeNumber: Node] = [:]
        var nextInode: UInt64 = 2
        var openHandles: [HandleNumber: InodeNumber] = [:]
        var nextHandle: UInt64 = 1
        var lookupCalls = 0
        var readCalls = 0
        var isMounted = false
        var isUnmounted = false
        var notifier: Notifier?
    }

    let state = Mutex(State())
    /// What happens at an open of the file with this name, before it succeeds.
    let onOpen = Mutex<(@Sendable (Caller, Name) throws(Errno) -> Void)?>(nil)
    /// Sees every write.
    let onWrite = Mutex<(@Sendable (UnsafeRawBufferPointer) -> Void)?>(nil)
    /// For how long the kernel may believe names and attributes.
    let timeout: Double
    /// Whether content that was read once stays cached.
    let keepsCache: Bool

    init(timeout: Double = 0, keepsCache: Bool = false) {
        self.timeout = timeout
        self.keepsCache = keepsCache
        state.withLock { $0.nodes[.root] = Self.node(.root, .directory, 0o700) }
    }

    static func node(_ inode: InodeNumber, _ kind: FileKind, _ permissions: UInt16) -> Node {
        Node(
            attributes: Attributes(
                inode: inode, kind: kind, permissions: permissions, linkCount: kind == .directory ? 2 : 1,
                userID: getuid(), groupID: getgid(), size: 0, modificationTime: .now))
    }

    func mounted(_ notifier: Notifier) {
        state.withLock {
            $0.isMounted = true
            $0.notifier = notifier
        }
    }

    func unmounted() { state.withLock { $0.isUnmounted = true } }

    func lookup(in parent: InodeNumber, name: Name) throws(Errno) -> Entry {
        // A name "errno-N" fails with N, so that a test can have any error.
        if name.string.hasPrefix("errno-"), let number = Int32(name.string.dropFirst(6)) {
            throw Errno(rawValue: number)
        }
        return try state.withLock { state throws(Errno) in
            state.lookupCalls += 1
            guard let inode = state.find(name, in: parent) else { throw .noSuchFileOrDirectory }
            return state.entry(inode, timeout)
        }
    }

    func forget(_ inode: InodeNumber, count: UInt64) {
        state.withLock { state in
            guard inode != .root, var node = state.nodes[inode] else { return }
            precondition(node.lookups >= count, "more forgotten than looked up")
            node.lookups -= count
            state.nodes[inode] = node.lookups == 0 && node.attributes.linkCount == 0 ? nil : node
        }
    }

    func attributes(
        of inode: InodeNumber, handle: HandleNumber?
    ) throws(Errno) -> (Attributes, timeout: Double) {
        try state.withLock { state throws(Errno) in
            guard let node = state.nodes[inode] else { throw .staleNFSFileHandle }
            return (node.attributes, timeout)
        }
    }

    func setAttributes(
        of inode: InodeNumber, handle: HandleNumber?, _ changes: AttributeChanges, for caller: Caller
    ) throws(Errno) -> (Attributes, timeout: Double) {
        try state.withLock { state throws(Errno) in
            guard var node = state.nodes[inode] else { throw .staleNFSFileHandle }
            if let size = changes.size { node.resize(Int(size)) }
            if let permissions = changes.permissions { node.attributes.permissions = permissions }
            if let user = changes.userID { node.attributes.userID = user }
            if let group = changes.groupID { node.attributes.groupID = group }
            if case .at(let time)? = changes.accessTime { node.attributes.accessTime = time }
            if case .at(let time)? = changes.modificationTime { node.attributes.modificationTime = time }
            if case .now? = changes.modificationTime { node.attributes.modificationTime = .now }
            state.nodes[inode] = node
            return (node.attributes, timeout)
        }
    }

    func readSymbolicLink(_ inode: InodeNumber) throws(Errno) -> [UInt8] {
        try state.withLock { state throws(Errno) in
            guard let node = state.nodes[inode] else { throw .staleNFSFileHandle }
            return node.bytes
        }
    }

    private func make(
        _ kind: FileKind, in parent: InodeNumber, _ name: Name, _ permissions: UInt16, bytes: [UInt8] = []
    ) throws(Errno) -> Entry {
        try state.withLock { state throws(Errno) in
            guard state.find(name, in: parent) == nil else { throw .fileExists }
            let inode = InodeNumber(rawValue: state.nextInode)
            state.nextInode += 1
            var node = Self.node(inode, kind, permissions)
            node.bytes = bytes
            node.attributes.size = Int64(bytes.count)
            state.nodes[inode] = node
            state.add(name, inode, to: parent)
            return state.entry(inode, timeout)
        }
    }

    func makeDirectory(
        in parent: InodeNumber, name: Name, permissions: UInt16
    ) throws(Errno) -> Entry { try make(.directory, in: parent, name, permissions) }

    func makeSymbolicLink(
        in parent: InodeNumber, name: Name, target: [UInt8], for caller: Caller
    ) throws(Errno) -> Entry { try make(.symbolicLink, in: parent, name, 0o777, bytes: target) }

    func makeNode(
        in parent: InodeNumber, name: Name, permissions: UInt16, for caller: Caller
    ) throws(Errno) -> Entry { try make(.regular, in: parent, name, permissions) }

    func link(
        _ inode: InodeNumber, to parent: InodeNumber, name: Name
    ) throws(Errno) -> Entry { throw .notPermitted }

    func unlink(in parent: InodeNumber, name: Name, for caller: Caller) throws(Errno) {
        try state.withLock { state throws(Errno) in
            guard let inode = state.remove(name, from: parent) else { throw .noSuchFileOrDirectory }
            state.drop(inode)
        }
    }

    func removeDirectory(in parent: InodeNumber, name: Name) throws(Errno) {
        try state.withLock { state throws(Errno) in
            guard let inode = state.find(name, in: parent) else { throw .noSuchFileOrDirectory }
            guard state.nodes[inode]?.entries.isEmpty == true else { throw .directoryNotEmpty }
            _ = state.remove(name, from: parent)
            state.drop(inode)
        }
    }

    func rename(
        from parent: InodeNumber, _ oldName: Name, to newParent: InodeNumber,
        _ newName: Name, flags: RenameFlags, for caller: Caller
    ) throws(Errno) {
        try state.withLock { state throws(Errno) in
            guard flags.isSubset(of: .noReplace) else { throw .invalidArgument }
            let target = state.find(newName, in: newParent)
            guard target == nil || !flags.contains(.noReplace) else { throw .fileExists }
            guard let inode = state.remove(oldName, from: parent) else { throw .noSuchFileOrDirectory }
            if target != nil, let old = state.remove(newName, from: newParent) { state.drop(old) }
            state.add(newName, inode, to: newParent)
        }
    }

    func statistics(_ inode: InodeNumber) throws(Errno) -> FileSystemStatistics {
        FileSystemStatistics(blocks: 1000, freeBlocks: 600, availableBlocks: 500, maximumNameLength: 251)
    }
}

extension MemoryFilesystem.Node {
    mutating func resize(_ size: Int) {
        if size < bytes.count { bytes.removeLast(bytes.count - size) }
        if size > bytes.count { bytes += [UInt8](repeating: 0, count: size - bytes.count) }
        attributes.size = Int64(size)
        attributes.modificationTime = .now
    }
}

extension MemoryFilesystem.State {
    func find(_ name: Name, in parent: InodeNumber) -> InodeNumber? {
        nodes[parent]?.entries.first { $0.name == name }?.inode
    }

    mutating func add(_ name: Name, _ inode: InodeNumber, to parent: InodeNumber) {
        guard var node = nodes.removeValue(forKey: parent) else { return }
        node.entries.append((node.nextOffset, name, inode))
        node.nextOffset += 1
        nodes[parent] = node
    }

    mutating func remove(_ name: Name, from parent: InodeNumber) -> InodeNumber? {
        guard let index = nodes[parent]?.entries.firstIndex(where: { $0.name == name }) else { return nil }
        return nodes[parent]?.entries.remove(at: index).inode
    }

    mutating func drop(_ inode: InodeNumber) {
        nodes[inode]?.attributes.linkCount = 0
        if nodes[inode]?.lookups == 0 { nodes[inode] = nil }
    }

    mutating func entry(_ inode: InodeNumber, _ timeout: Double) -> Entry {
        nodes[inode]?.lookups += 1
        guard let node = nodes[inode] else { preconditionFailure("an entry leads to a node") }
        return Entry(
            inode: inode, attributes: node.attributes, attributeTimeout: timeout, entryTimeout: timeout)
    }

    mutating func open(_ inode: InodeNumber) -> HandleNumber {
        let handle = HandleNumber(rawValue: nextHandle)
        nextHandle += 1
        openHandles[handle] = inode
        return handle
    }
}
