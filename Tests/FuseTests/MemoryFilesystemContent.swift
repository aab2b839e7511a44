import Fuse
import Glibc
import Synchronization
import SystemPackage

/// Open files and directories of the file system in memory.
extension MemoryFilesystem {
    func open(_ inode: InodeNumber, flags: OpenFlags, for caller: Caller) throws(Errno) -> Reply<Opened> {
        let name = state.withLock { state in
            state.nodes[.root]?.entries.first { $0.inode == inode }?.name
        }
        if let name, let onOpen = onOpen.withLock({ $0 }) { try onOpen(caller, name) }
        return state.withLock { state in
            if flags.truncates { state.nodes[inode]?.resize(0) }
            return .now(Opened(handle: state.open(inode), keepCache: keepsCache))
        }
    }

    func create(
        in parent: InodeNumber, name: Name, permissions: UInt16, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<(Entry, Opened)> {
        let entry = try makeNode(in: parent, name: name, permissions: permissions, for: caller)
        return .now((entry, state.withLock { Opened(handle: $0.open(entry.inode)) }))
    }

    func read(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        let bytes = state.withLock { state in
            state.readCalls += 1
            return state.nodes[inode]?.bytes ?? []
        }
        let start = min(Int(offset), bytes.count)
        let end = min(start + count, bytes.count)
        bytes[start..<end].withUnsafeBytes { reply($0) }
    }

    func write(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        bytes: UnsafeRawBufferPointer, isFromPageCache: Bool
    ) throws(Errno) -> Int {
        onWrite.withLock { $0 }?(bytes)
        return try state.withLock { state throws(Errno) in
            guard var node = state.nodes.removeValue(forKey: inode) else { throw .staleNFSFileHandle }
            let end = Int(offset) + bytes.count
            if end > node.bytes.count { node.resize(end) }
            node.bytes.replaceSubrange(Int(offset)..<end, with: bytes)
            state.nodes[inode] = node
            return bytes.count
        }
    }

    func flush(_ inode: InodeNumber, handle: HandleNumber, for caller: Caller) throws(Errno) {
        // A file named "unsavable" cannot be closed with success.
        let isUnsavable = state.withLock { $0.find("unsavable", in: .root) == inode }
        if isUnsavable { throw .noSpace }
    }

    func release(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags) {
        state.withLock { state in
            precondition(state.openHandles.removeValue(forKey: handle) == inode, "released what is not open")
        }
    }

    func synchronize(
        _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {
        if dataOnly { throw .ioError }
    }

    func openDirectoryAtOnce(_ inode: InodeNumber, flags: OpenFlags) throws(Errno) -> Opened? { nil }

    func openDirectory(
        _ inode: InodeNumber, flags: OpenFlags, for caller: Caller
    ) throws(Errno) -> Reply<Opened> {
        .now(state.withLock { Opened(handle: $0.open(inode)) })
    }

    func readDirectory(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, Int64) -> Bool
    ) throws(Errno) {
        let (entries, kinds) = state.withLock { state in
            let entries = (state.nodes[inode]?.entries ?? []).filter { $0.offset > offset }
            return (entries, entries.map { state.nodes[$0.inode]?.attributes.kind ?? .regular })
        }
        if offset < 1, !add(ListedEntry(name: ".", inode: inode, kind: .directory), 1) { return }
        if offset < 2, !add(ListedEntry(name: "..", inode: .root, kind: .directory), 2) { return }
        for (entry, kind) in zip(entries, kinds)
        where !add(ListedEntry(name: entry.name, inode: entry.inode, kind: kind), entry.offset) {
            return
        }
    }

    func openAtOnce(_ inode: InodeNumber, flags: OpenFlags, for thread: Int32) -> Opened? { nil }

    func readDirectoryWithEntries(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        _ add: (ListedEntry, Entry?, Int64) -> Bool
    ) throws(Errno) {
        try readDirectory(inode, handle: handle, offset: offset) { listed, next in
            guard listed.name != ".", listed.name != ".." else { return add(listed, nil, next) }
            let entry = state.withLock { $0.entry(listed.inode, timeout) }
            if add(listed, entry, next) { return true }
            forget(listed.inode, count: 1)
            return false
        }
    }

    func releaseDirectory(_ inode: InodeNumber, handle: HandleNumber) {
        release(inode, handle: handle, flags: OpenFlags(rawValue: 0))
    }

    func synchronizeDirectory(_ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool) throws(Errno) {
        throw .noFunction
    }

    func extendedAttribute(
        _ inode: InodeNumber, name: [UInt8]
    ) throws(Errno) -> [UInt8] {
        try state.withLock { state throws(Errno) in
            guard let value = state.nodes[inode]?.extended[name] else { throw Errno(rawValue: ENODATA) }
            return value
        }
    }

    func extendedAttributeNames(_ inode: InodeNumber) throws(Errno) -> [[UInt8]] {
        state.withLock { $0.nodes[inode]?.extended.keys.sorted { $0.lexicographicallyPrecedes($1) } ?? [] }
    }

    func setExtendedAttribute(
        _ inode: InodeNumber, name: [UInt8], value: UnsafeRawBufferPointer,
        flags: ExtendedAttributeFlags
    ) throws(Errno) {
        try state.withLock { state throws(Errno) in
            let isThere = state.nodes[inode]?.extended[name] != nil
            if isThere, flags.contains(.create) { throw .fileExists }
            if !isThere, flags.contains(.replace) { throw Errno(rawValue: ENODATA) }
            state.nodes[inode]?.extended[name] = Array(value)
        }
    }

    func removeExtendedAttribute(_ inode: InodeNumber, name: [UInt8]) throws(Errno) {
        try state.withLock { state throws(Errno) in
            guard state.nodes[inode]?.extended.removeValue(forKey: name) != nil else {
                throw Errno(rawValue: ENODATA)
            }
        }
    }

    func allocate(
        _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64,
        length: Int64
    ) throws(Errno) {
        guard mode == 0 else { throw .notSupported }
        state.withLock { state in
            let end = Int(offset + length)
            if end > state.nodes[inode]?.bytes.count ?? 0 { state.nodes[inode]?.resize(end) }
        }
    }

    func seek(
        _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64 {
        let size = state.withLock { Int64($0.nodes[inode]?.bytes.count ?? 0) }
        guard offset < size else { throw Errno(rawValue: ENXIO) }
        return whence == 3 ? offset : size
    }
}
