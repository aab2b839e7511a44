import Git
import Stores
import SystemPackage

/// Ciphertexts as they were saved through the mount, until they are committed.
///
/// `git stash`, `git checkout -f` and the like overwrite what was saved a moment ago and what git has no object of:
/// between the two steps of `git stash`, for one, nothing tells that a save will be lost. With these it can be put back.
struct SavedCiphertexts: Sendable {
    /// One of them.
    struct Saved: Sendable {
        var content: Content
        /// The file that it was saved as.
        var identity: CiphertextIdentity
        /// The newest commit then; whatever its history has at this path is older than what was saved.
        var head: ObjectID
        /// The lines of the `.gpg-id` that applied.
        var recipients: [String]
        /// In seconds since 1970.
        var time: Int64
    }

    /// What was saved: small ones in memory, as there may be thousands of them.
    enum Content: Sendable {
        case bytes([UInt8])
        case file(HeldFile)

        /// The most bytes that are worth no descriptor.
        static let small = 1 << 16

        /// Nil where it cannot be read any more.
        func bytes(limit: Int) -> [UInt8]? {
            switch self {
            case .bytes(let bytes): bytes
            case .file(let file): file.content(limit: limit)
            }
        }

        /// What it takes of the memory.
        var count: Int { if case .bytes(let bytes) = self { bytes.count } else { 0 } }

        /// What it takes of the descriptors.
        var files: Int { if case .file = self { 1 } else { 0 } }
    }

    /// How many bytes are held in memory at most, and how many files open; what is saved beyond them is not held. Tens of
    /// thousands of passwords, and hundreds of documents of any size.
    private static let limit = (bytes: 16 << 20, files: 256)

    private var saved: [FilePath: Saved] = [:]
    private var count = (bytes: 0, files: 0)

    /// By its path, relative to the store.
    subscript(path: FilePath) -> Saved? { saved[path] }

    /// The one at a path, and those below it.
    func all(below path: FilePath) -> [FilePath: Saved] {
        guard !path.isSecretName else { return saved[path].map { [path: $0] } ?? [:] }
        return saved.filter { $0.key.starts(with: path) }
    }

    mutating func hold(_ text: Saved, at path: FilePath) {
        drop(path)
        guard count.bytes + text.content.count <= Self.limit.bytes,
            count.files + text.content.files <= Self.limit.files
        else { return }
        count.bytes += text.content.count
        count.files += text.content.files
        saved[path] = text
    }

    /// Nothing is to be there any more.
    mutating func drop(_ path: FilePath) {
        guard !saved.isEmpty, let old = saved.removeValue(forKey: path) else { return }
        count.bytes -= old.content.count
        count.files -= old.content.files
    }

    /// Another file or folder has come to a path by other ways than a save.
    mutating func dropAll(below path: FilePath) {
        for place in saved.keys where place.starts(with: path) { drop(place) }
    }

    /// A file or folder has another name.
    mutating func rename(_ from: FilePath, to: FilePath) {
        // Of thousands of secrets that are renamed one after another, none has anything below it.
        guard !from.isSecretName else {
            drop(to)
            saved[to] = saved.removeValue(forKey: from)
            return
        }
        dropAll(below: to)
        for path in saved.keys where path.starts(with: from) {
            var below = path
            guard below.removePrefix(from), let text = saved.removeValue(forKey: path) else { continue }
            saved[to.pushing(below)] = text
        }
    }

    mutating func filter(_ isKept: (FilePath) -> Bool) {
        saved = saved.filter { isKept($0.key) }
        count = saved.values.reduce((0, 0)) { ($0.0 + $1.content.count, $0.1 + $1.content.files) }
    }

    /// Adds what was saved before these, and not again since.
    mutating func putBack(_ earlier: SavedCiphertexts, unless isTouched: (FilePath) -> Bool) {
        for (path, text) in earlier.saved where saved[path] == nil && !isTouched(path) {
            hold(text, at: path)
        }
    }
}
