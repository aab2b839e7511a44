import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A secret or scratch file that a program has open; in use until the handle is closed.
struct OpenSecret: OpenFile {
    let store: MountedStore
    let node: Node
    let file: SecretFile
    let isWritable: Bool
    /// Every write goes to the end.
    let appends: Bool
    /// Who opened it; nil where it is for reading only, and nobody's close(2) matters.
    let opener: Caller?
    let isInKernel: Bool
    /// Which content it was when it was opened.
    private let content: UInt64
    /// How often the content had been wiped by a lock when it was opened.
    let wipes: UInt64

    init(
        _ store: MountedStore, _ node: Node, _ file: SecretFile, _ flags: OpenFlags, for opener: Caller?
    ) {
        self.store = store
        self.node = node
        self.file = file
        isWritable = flags.isWritable
        appends = flags.appends
        self.opener = flags.isWritable ? opener : nil
        (content, isInKernel, wipes) = file.state.withLock { state in
            if flags.isWritable { state.writers += 1 }
            return (state.content, state.isInKernel, state.wipes)
        }
    }

    /// For reading, too: `permit` must still hold.
    /// - Throws: EACCES where the store was locked meanwhile; there is no handle then.
    init(
        _ store: MountedStore, _ node: Node, _ file: SecretFile, _ flags: OpenFlags, for opener: Caller?,
        by permit: ReadPermit
    ) throws(Errno) {
        self.init(store, node, file, flags, for: opener)
        // A lock that comes after this look wipes a content that this knows.
        guard file.state.withLock({ $0.isLoaded && $0.wipes == wipes && store.holds(permit) }) else {
            if isWritable { file.state.withLock { $0.writers -= 1 } }
            throw store.noteLocked(node)
        }
        store.mount.options.locks.noteRead()
    }

    private var limit: Int { store.mount.options.secretLimit }

    var size: Int64 { Int64(file.state.withLock { $0.count }) }

    func read(at offset: Int, count: Int, _ reply: (UnsafeRawBufferPointer) -> Void) throws(Errno) {
        // A lock that comes after this look has the kernel drop the page, which waits for this reply.
        if store.lock.isLocked, !store.isRecipientFile(node) { throw .permissionDenied }
        // Pages of a file that is mapped are read for writers, too: the kernel has checked the mode.
        try file.state.withLock { (state) throws(Errno) in
            guard state.isLoaded, state.wipes == wipes else { throw .permissionDenied }
            state.noteRead(of: content)
            state.read(at: offset, count: count, reply)
        }
        store.mount.options.locks.noteRead()
    }

    /// Lends the text to `body`, for that call only. The kernel has no part in it.
    /// - Throws: EACCES where a lock has wiped it.
    func withText<Value: Sendable>(
        _ body: (UnsafeRawBufferPointer) throws(ValueError) -> Value
    ) throws(ValueError) -> Value {
        try file.state.withLock { (state) throws(ValueError) in
            guard state.isLoaded, state.wipes == wipes else { throw ValueError(.permissionDenied) }
            var result = Result<Value, ValueError>.failure(ValueError(.permissionDenied))
            state.read(at: 0, count: state.count) { text in
                result = Result { () throws(ValueError) in try body(text) }
            }
            return try result.get()
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, isFromPageCache: Bool) throws(Errno) {
        guard isWritable else { throw .badFileDescriptor }
        try file.state.withLock { (state) throws(Errno) in
            try state.checkNotWiped()
            let start = appends && !isFromPageCache ? state.count : offset
            guard start >= 0 else { throw .invalidArgument }
            guard start <= limit, bytes.count <= limit - start else { throw .fileTooLarge }
            try file.takeScratchMemory(for: start + bytes.count, &state)
            try state.write(bytes, at: start, time: .now)
        }
        store.markDirty(node)
    }

    func flush(for caller: Caller) throws(Errno) {
        guard isWritable else { return }
        let (isDirty, isOnlyTruncated) = file.state.withLock { ($0.isDirty, $0.isOnlyTruncated) }
        guard isDirty else { return }
        if isOnlyTruncated {
            // A shell closes a copy of the descriptor before it writes: nothing is to be saved yet.
            guard !caller.mayStillHold(node.inode, openedBy: opener), !store.isUnusedProbe(node, file) else {
                return
            }
        }
        try store.save(node, file)
    }

    func synchronize() throws(Errno) {
        try store.save(node, file)
    }

    func close() {
        // What was not saved by a FLUSH: a file that was only truncated, or pages of a mapping. Nobody can be told of
        // a failure any more; it is kept, listed and tried again.
        if isWritable {
            if !store.isUnusedProbe(node, file) { try? store.save(node, file) }
            file.state.withLock { $0.writers -= 1 }
            // What only a writer has kept in memory goes with it.
            if store.lock.isLocked { store.wipe(node, file) }
        }
        store.endHandle(node, file)
    }

    func allocate(mode: Int32, offset: Int64, length: Int64) throws(Errno) {
        guard isWritable else { throw .badFileDescriptor }
        guard offset >= 0, length > 0 else { throw .invalidArgument }
        let (end, overflow) = offset.addingReportingOverflow(length)
        guard !overflow, end <= Int64(limit) else { throw .fileTooLarge }
        // FALLOC_FL_KEEP_SIZE 1, PUNCH_HOLE 2, ZERO_RANGE 16; memory has no blocks to keep for later.
        switch mode {
        case 0: try store.grow(node, file, to: Int(end), canShrink: false)
        case 1: return
        case 2 | 1, 16 | 1: try zero(from: Int(offset), to: Int(end))
        case 16:
            try store.grow(node, file, to: Int(end), canShrink: false)
            try zero(from: Int(offset), to: Int(end))
        default: throw .notSupportedOnSocket
        }
    }

    private func zero(from start: Int, to end: Int) throws(Errno) {
        try file.state.withLock { (state) throws(Errno) in
            try state.checkNotWiped()
            let end = min(end, state.count)
            guard start < end else { return }
            try state.write(zeroes: end - start, at: start, time: .now)
        }
        store.markDirty(node)
    }
}

extension SecretFile.State {
    /// Refuses to change a part of a content that a lock has wiped: EACCES, as it would have to be read.
    fileprivate func checkNotWiped() throws(Errno) {
        guard isLoaded else { throw .permissionDenied }
    }
}

extension MountedStore {
    /// truncate(2), ftruncate(2).
    func resize(_ node: Node, to size: Int64, isOpen: Bool) throws(Errno) {
        guard size >= 0 else { throw .invalidArgument }
        guard size <= Int64(mount.options.secretLimit) else { throw .fileTooLarge }
        guard let file = beginHandle(node) else {
            throw node.fileKind == .directory ? .isDirectory : .permissionDenied
        }
        defer { endHandle(node, file) }
        if size == 0 {
            try truncate(node, file)
        } else {
            // What is open keeps what it opened; a path is looked at anew.
            if !isOpen { try loadToTruncate(node, file) }
            try grow(node, file, to: Int(size), canShrink: true)
        }
        // Nobody will close a file that truncate(2) named by its path.
        if !isOpen { try save(node, file) }
    }

    /// As `loadWithoutAsking`: the kernel holds the file, for which who renames or removes it waits with its folder held. EACCES
    /// where a person would have to be asked.
    private func loadToTruncate(_ node: Node, _ file: SecretFile) throws(Errno) {
        guard mayReadAtOnce(node) != nil else { throw noteLocked(node) }
        do throws(Errno) {
            try loadWithoutAsking(node, file)
        } catch .improperLink {
            if let path = tree.visiblePath(of: node), let backing = tree.backingPath(of: node) {
                note(
                    "truncate(2) of what is not open asks for no passphrase; open it first, or run passdir unlock "
                        + "\(ShellWord.quoted(store.name))", about: path, at: backing, isOfPrompt: true)
            }
            throw .permissionDenied
        }
    }

    fileprivate func grow(_ node: Node, _ file: SecretFile, to size: Int, canShrink: Bool) throws(Errno) {
        let isChanged = try file.state.withLock { (state) throws(Errno) in
            try state.checkNotWiped()
            guard state.count < size || (canShrink && state.count > size) else { return false }
            try file.takeScratchMemory(for: size, &state)
            try state.resize(to: size, at: .now)
            return true
        }
        if isChanged { markDirty(node) }
    }
}
