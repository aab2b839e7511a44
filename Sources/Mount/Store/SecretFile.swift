import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// The content of a secret while somebody has it open, or while it is not saved.
///
/// Locks: `saving` may be held while waiting for an encryption; `state` never is held while waiting for anything.
/// `saving` is taken before `MountedStore.namespace`, that before `Tree`'s, `state` last.
final class SecretFile: Sendable {
    /// A save that failed.
    struct Failure: Sendable, Equatable {
        var errno: Errno
        var message: String
        var since: FileTime
    }

    struct State: ~Copyable {
        private enum Mode { case absent, clean, edited }
        private var mode = Mode.absent
        private var bytes: SecretBytes?
        private var buffer = SecretBuffer()

        /// The file on disk that the content came from or was saved to; nil when there is none yet.
        var base: FileStatus?
        /// Rises with each edit.
        private(set) var version: UInt64 = 0
        /// The version that is durable on disk.
        private(set) var savedVersion: UInt64 = 0
        /// Another one each time that the content is another one, or in memory again.
        private(set) var content: UInt64 = 0
        /// The content of which the kernel has read pages through a handle for which it had dropped those from before.
        private var contentInKernel: UInt64?
        /// Truncated to nothing, and nothing written since: a FLUSH now must not save an empty secret, as a shell
        /// sends one before it writes.
        private(set) var isOnlyTruncated = false
        /// Open handles.
        var handles = 0
        /// How many of them may write.
        var writers = 0
        /// How often it was wiped by a lock: what was open then reads no more.
        private(set) var wipes: UInt64 = 0
        /// Those of `handles` that no program has: saves that are tried again, and texts that are given up.
        var ownHandles = 0
        /// A decryption on its way.
        var decryption: SharedDecryption?
        /// Why the last save failed; nil when none did.
        var failure: Failure?
        /// The list that applied when a save of this `.gpg-id` was first tried, until one succeeds or no program has
        /// it open: what is edited further is made from that list, too.
        var triedFrom: AppliedList?
        /// When it was last edited, while that is not on disk.
        private(set) var modified: FileTime?
        /// When its content or its times were last changed, while that is not on disk.
        private(set) var changed: FileTime?
        /// When it was last read, where a program has said so, while that is not on disk.
        private(set) var accessed: FileTime?
        /// Lives in memory only.
        var isScratch = false
        /// The parked secret that this scratch file was, and the version that it was then.
        var origin: (path: FilePath, version: UInt64)?
        /// What was taken from the memory of all scratch files.
        var scratchBytes = 0
    }

    let state: Mutex<State>
    /// One save at a time.
    let saving = Mutex<Void>(())
    /// Held while waiting for nothing, and no other lock is taken meanwhile.
    let judgedName = Mutex<JudgedName?>(nil)
    private let scratchMemory: ScratchMemory

    /// A secret that lies on disk.
    init(scratchMemory: ScratchMemory) {
        state = Mutex(State())
        self.scratchMemory = scratchMemory
    }

    /// A file that is newly made, empty: a secret that is not on disk yet, or a scratch file.
    init(newAt time: FileTime, isScratch: Bool, scratchMemory: ScratchMemory) {
        var fresh = State()
        fresh.isScratch = isScratch
        fresh.truncate(at: time)
        state = Mutex(fresh)
        self.scratchMemory = scratchMemory
    }

    /// Makes sure that a scratch file may grow to `size` bytes; ENOSPC where it may not. Anything else may.
    func takeScratchMemory(for size: Int, _ state: inout State) throws(Errno) {
        guard state.isScratch, size > state.scratchBytes else { return }
        try scratchMemory.take(size - state.scratchBytes)
        state.scratchBytes = size
    }

    /// The content of a scratch file is forgotten, or it is none any more.
    func returnScratchMemory() {
        let bytes = state.withLock { state in
            defer { state.scratchBytes = 0 }
            return state.scratchBytes
        }
        try? scratchMemory.take(-bytes)
    }
}

extension SecretFile.State {
    var isLoaded: Bool { mode != .absent }
    /// Edited and to be saved; a scratch file never is.
    var isDirty: Bool { !isScratch && version != savedVersion }

    /// Whether a program has it open.
    var isOpenInProgram: Bool { handles > ownHandles }

    /// Nobody has it open, and what is in memory is on disk, too.
    var isIdle: Bool { handles == 0 && !isDirty && !isScratch && isLoaded }

    /// Bytes of the content; meaningless when it is not loaded.
    var count: Int {
        switch mode {
        case .absent: 0
        case .clean: bytes?.count ?? 0
        case .edited: buffer.count
        }
    }

    /// Takes what was decrypted.
    mutating func install(_ plaintext: Plaintext) {
        bytes = plaintext.bytes
        mode = .clean
        base = plaintext.status
        content += 1
    }

    /// Whether the kernel's pages are this content.
    var isInKernel: Bool { contentInKernel == content }

    /// The kernel reads pages through a handle that was opened when this was the content.
    mutating func noteRead(of opened: UInt64) {
        if opened == content { contentInKernel = content }
    }

    /// The kernel's pages are gone, or will be.
    mutating func forgetPages() { contentInKernel = nil }

    /// Forgets a content that is saved.
    mutating func drop() {
        bytes = nil
        buffer.clear()
        mode = .absent
        triedFrom = nil
        content += 1
    }

    /// Forgets what a lock forgets: all but what is not on disk, and what a writer goes on with. The kernel's pages are to be
    /// dropped by the caller.
    mutating func wipe() {
        contentInKernel = nil
        guard isLoaded, !isDirty, !isScratch, mode != .edited || writers == 0 else { return }
        drop()
        wipes += 1
    }

    private mutating func edit(at time: FileTime) {
        version += 1
        content += 1
        modified = time
        changed = time
    }

    private mutating func makeEditable() throws(Errno) {
        guard mode == .clean, let bytes else { return }
        buffer = try SecretBuffer(copying: bytes)
        self.bytes = nil
        mode = .edited
    }

    /// Makes the content empty; it need not be loaded.
    mutating func truncate(at time: FileTime) {
        bytes = nil
        buffer.clear()
        mode = .edited
        isOnlyTruncated = true
        edit(at: time)
    }

    /// Sets the size of a loaded content; new bytes are zero.
    mutating func resize(to size: Int, at time: FileTime) throws(Errno) {
        if size == 0 { return truncate(at: time) }
        try makeEditable()
        try buffer.resize(to: size)
        isOnlyTruncated = false
        edit(at: time)
    }

    /// Writes into a loaded content; a gap before `offset` becomes zero bytes.
    mutating func write(_ source: UnsafeRawBufferPointer, at offset: Int, time: FileTime) throws(Errno) {
        try makeEditable()
        try buffer.write(source, at: offset)
        isOnlyTruncated = false
        edit(at: time)
    }

    /// Writes zero bytes into a loaded content.
    mutating func write(zeroes count: Int, at offset: Int, time: FileTime) throws(Errno) {
        let zeroes = [UInt8](repeating: 0, count: min(count, 1 << 16))
        var done = 0
        while done < count {
            let piece = min(zeroes.count, count - done)
            let result = zeroes.withUnsafeBytes { bytes in
                Result { () throws(Errno) in
                    try write(
                        UnsafeRawBufferPointer(rebasing: bytes[..<piece]), at: offset + done, time: time)
                }
            }
            try result.get()
            done += piece
        }
    }

    /// Hands up to `count` bytes from `offset` to `body`, none beyond the end.
    func read(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        let start = min(max(offset, 0), self.count)
        let range = start..<min(start + count, self.count)
        switch mode {
        case .absent: body(UnsafeRawBufferPointer(start: nil, count: 0))
        case .clean: bytes?.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        case .edited: buffer.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }

    /// What is to be saved, with the version that it is.
    /// - Throws: EACCES where there is no content, as a lock has forgotten it since it was loaded: it must not be saved as an
    ///   empty one.
    func snapshot() throws(Errno) -> Snapshot {
        try checkLoaded()
        let copy = mode == .clean ? bytes : nil
        let content = if let copy { copy } else { try buffer.snapshot() }
        return Snapshot(
            bytes: content, version: version, accessed: accessed ?? base?.accessed, modified: modified)
    }

    /// Refuses to go on without the content that was loaded before.
    /// - Throws: EACCES.
    func checkLoaded() throws(Errno) {
        guard isLoaded else { throw .permissionDenied }
    }

    /// A version is on disk.
    mutating func markSaved(_ saved: UInt64, as status: FileStatus) {
        savedVersion = saved
        base = status
        failure = nil
        triedFrom = nil
        if !isDirty {
            modified = nil
            changed = nil
            accessed = nil
            isOnlyTruncated = false
        }
    }

    /// What was saved may not be durable: it is to be saved again.
    mutating func requireSave() {
        version += 1
    }

    /// Gives up what is not saved: the secret was removed.
    mutating func abandonEdits() {
        abandonEdits(through: version)
    }

    /// Gives up what is not saved up to a version; what was edited since is to be saved.
    mutating func abandonEdits(through version: UInt64) {
        savedVersion = version
        failure = nil
        if !isDirty { isOnlyTruncated = false }
    }

    /// Other times for a content that is not saved yet; nil leaves one as it is.
    mutating func setTimes(accessed: FileTime?, modified: FileTime?) {
        if let accessed { self.accessed = accessed }
        if let modified { self.modified = modified }
        changed = .now
    }
}
