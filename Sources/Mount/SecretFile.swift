import OpenPGP
import Stores
import Synchronization
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
        /// Truncated to nothing, and nothing written since: a FLUSH now must not save an empty secret, as a shell
        /// sends one before it writes.
        private(set) var isOnlyTruncated = false
        /// Open handles.
        var handles = 0
        /// A decryption on its way.
        var decryption: SharedDecryption?
        /// Why the last save failed; nil when none did.
        var failure: Failure?
        /// When it was last edited, while that is not on disk.
        private(set) var modified: FileTime?
        /// What is known of the size of a ciphertext that isn't open.
        var knownSize: (identity: CiphertextIdentity, bytes: Int64)?
    }

    let state: Mutex<State>
    /// One save at a time.
    let saving = Mutex<Void>(())

    /// A secret that lies on disk.
    init() {
        state = Mutex(State())
    }

    /// A secret that is newly made, empty, not on disk yet.
    init(newAt time: FileTime) {
        var fresh = State()
        fresh.truncate(at: time)
        state = Mutex(fresh)
    }
}

extension SecretFile.State {
    var isLoaded: Bool { mode != .absent }
    var isDirty: Bool { version != savedVersion }

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
        knownSize = (plaintext.status.identity, Int64(plaintext.bytes.count))
    }

    /// Forgets a content that is saved.
    mutating func drop() {
        bytes = nil
        buffer.clear()
        mode = .absent
    }

    private mutating func edit(at time: FileTime) {
        version += 1
        modified = time
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
    func snapshot() throws(Errno) -> (bytes: SecretBytes, version: UInt64) {
        if mode == .clean, let bytes { return (bytes, version) }
        return (try buffer.snapshot(), version)
    }

    /// A version is on disk.
    mutating func markSaved(_ saved: UInt64, as status: FileStatus, size: Int) {
        savedVersion = saved
        base = status
        failure = nil
        knownSize = (status.identity, Int64(size))
        if !isDirty {
            modified = nil
            isOnlyTruncated = false
        }
    }

    /// Gives up what is not saved: the secret was removed.
    mutating func abandonEdits() {
        savedVersion = version
        failure = nil
        isOnlyTruncated = false
    }

    /// Another modification time for a content that is not saved yet.
    mutating func setModified(_ time: FileTime) {
        modified = time
    }

    /// The file on disk only got another name or another time.
    mutating func rebase(_ status: FileStatus) {
        if let knownSize, knownSize.identity == base?.identity {
            self.knownSize = (status.identity, knownSize.bytes)
        }
        base = status
    }
}
