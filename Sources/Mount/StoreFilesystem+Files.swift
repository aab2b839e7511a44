public import Fuse
import Glibc
import Stores
import Synchronization
public import SystemPackage

extension StoreFilesystem {
    /// Hands out bytes of what was opened.
    public func read(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, count: Int,
        reply: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        switch handles[handle] {
        case .secret(let open):
            // Pages of a file that is mapped are read for writers, too: the kernel has checked the mode.
            open.file.state.withLock { $0.read(at: Int(clamping: offset), count: count, reply) }
        case .plain(let content):
            let start = min(max(Int(clamping: offset), 0), content.bytes.count)
            let end = min(start + count, content.bytes.count)
            content.bytes.withUnsafeBytes { reply(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        case .directory: throw .isDirectory
        case nil: throw .badFileDescriptor
        }
    }

    /// Changes the content in memory: EFBIG beyond `limits.secret`, ENOSPC where scratch files take too much.
    public func write(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64,
        bytes: UnsafeRawBufferPointer, isFromPageCache: Bool
    ) throws(Errno) -> Int {
        let open = try writable(handle)
        let limit = options.secretLimit
        try open.file.state.withLock { (state) throws(Errno) in
            let start = open.appends && !isFromPageCache ? state.count : Int(clamping: offset)
            guard start >= 0 else { throw .invalidArgument }
            guard start <= limit, bytes.count <= limit - start else { throw .fileTooLarge }
            try open.file.takeScratchMemory(for: start + bytes.count, &state)
            try state.write(bytes, at: start, time: .now)
        }
        markDirty(open.node)
        return bytes.count
    }

    private func writable(_ handle: HandleNumber) throws(Errno) -> Handles.OpenSecret {
        guard case .secret(let open) = handles[handle], open.isWritable else { throw .badFileDescriptor }
        return open
    }

    /// One descriptor of a file is closed: what was written is saved, and the save's error is close()'s.
    public func flush(_ request: Request, _ inode: InodeNumber, handle: HandleNumber) throws(Errno) {
        guard case .secret(let open) = handles[handle], open.isWritable else { return }
        let (isDirty, isOnlyTruncated) = open.file.state.withLock { ($0.isDirty, $0.isOnlyTruncated) }
        guard isDirty else { return }
        if isOnlyTruncated {
            // A shell closes a copy of the descriptor before it writes: nothing is to be saved yet.
            guard !request.caller.mayStillHold(inode), !isUnusedProbe(open.node, open.file) else { return }
        }
        try save(open.node, open.file)
    }

    /// fsync(2): saves what was edited, also an empty content.
    public func synchronize(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, dataOnly: Bool
    ) throws(Errno) {
        guard case .secret(let open) = handles[handle] else { return }
        try save(open.node, open.file)
    }

    /// The last descriptor is closed: what no flush has saved is saved.
    public func release(_ inode: InodeNumber, handle: HandleNumber, flags: OpenFlags) {
        let closed = handles[handle]
        handles[handle] = nil
        guard case .secret(let open) = closed else { return }
        // What was not saved by a FLUSH: a file that was only truncated, or pages of a mapping. Nobody can be told of
        // a failure any more; it is kept, listed and tried again.
        if open.isWritable, !isUnusedProbe(open.node, open.file) { try? save(open.node, open.file) }
        endHandle(open.node, open.file)
    }

    /// truncate(2), ftruncate(2).
    func resize(_ node: Node, to size: Int64, handle: HandleNumber?, _ request: Request) throws(Errno) {
        guard size >= 0 else { throw .invalidArgument }
        guard size <= Int64(options.secretLimit) else { throw .fileTooLarge }
        guard let file = beginHandle(node) else {
            throw node.fileKind == .directory ? .isDirectory : .permissionDenied
        }
        defer { endHandle(node, file) }
        if size == 0 {
            try truncate(node, file)
        } else {
            // What is open keeps what it opened; a path is looked at anew.
            if handle == nil { try load(node, file, request) }
            try grow(node, file, to: Int(size), canShrink: true)
        }
        // Nobody will close a file that truncate(2) named by its path.
        if handle == nil { try save(node, file) }
    }

    private func grow(_ node: Node, _ file: SecretFile, to size: Int, canShrink: Bool) throws(Errno) {
        let isChanged = try file.state.withLock { (state) throws(Errno) in
            guard state.count < size || (canShrink && state.count > size) else { return false }
            try file.takeScratchMemory(for: size, &state)
            try state.resize(to: size, at: .now)
            return true
        }
        if isChanged { markDirty(node) }
    }

    /// fallocate(2): makes a file longer, or zeroes a part of it.
    public func allocate(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, mode: Int32, offset: Int64,
        length: Int64
    ) throws(Errno) {
        let open = try writable(handle)
        let (end, overflow) = offset.addingReportingOverflow(length)
        guard !overflow, end <= Int64(options.secretLimit) else { throw .fileTooLarge }
        // FALLOC_FL_KEEP_SIZE 1, PUNCH_HOLE 2, ZERO_RANGE 16; memory has no blocks to keep for later.
        switch mode {
        case 0: try grow(open.node, open.file, to: Int(end), canShrink: false)
        case 1: return
        case 2 | 1, 16 | 1: try zero(open, from: Int(offset), to: Int(end))
        case 16:
            try grow(open.node, open.file, to: Int(end), canShrink: false)
            try zero(open, from: Int(offset), to: Int(end))
        default: throw .notSupportedOnSocket
        }
    }

    private func zero(_ open: Handles.OpenSecret, from start: Int, to end: Int) throws(Errno) {
        try open.file.state.withLock { (state) throws(Errno) in
            let end = min(end, state.count)
            guard start < end else { return }
            try state.write(zeroes: end - start, at: start, time: .now)
        }
        markDirty(open.node)
    }

    /// lseek(2) for data and holes: all is data, up to the end.
    public func seek(
        _ request: Request, _ inode: InodeNumber, handle: HandleNumber, offset: Int64, whence: Int32
    ) throws(Errno) -> Int64 {
        let size: Int64
        switch handles[handle] {
        case .secret(let open): size = Int64(open.file.state.withLock { $0.count })
        case .plain(let content): size = Int64(content.bytes.count)
        case .directory, nil: throw .badFileDescriptor
        }
        // SEEK_DATA 3, SEEK_HOLE 4: all is data, the one hole is at the end.
        guard offset >= 0, offset < size else { throw .noSuchAddressOrDevice }
        switch whence {
        case 3: return offset
        case 4: return size
        default: throw .invalidArgument
        }
    }
}
