import Git
import Stores
import SystemPackage

/// Ciphertexts as they were saved through the mount, until they are committed.
///
/// `git stash`, `git checkout -f` and the like overwrite what was saved a moment ago and what git has no object of:
/// between the two steps of `git stash`, for one, nothing tells that a save will be lost. With these it can be put back.
struct SavedCiphertexts: Sendable {
    /// One of them.
    struct Saved: Sendable, Equatable {
        var bytes: [UInt8]
        /// The file that it was saved as.
        var identity: CiphertextIdentity
        /// The newest commit then; whatever its history has at this path is older than what was saved.
        var head: ObjectID
        /// The lines of the `.gpg-id` that applied.
        var recipients: [String]
        /// In seconds since 1970.
        var time: Int64
    }

    /// How many bytes are held at most; what is saved beyond them is not. Tens of thousands of passwords.
    private static let limit = 16 << 20

    private var saved: [FilePath: Saved] = [:]
    private var count = 0

    /// By its path, relative to the store.
    subscript(path: FilePath) -> Saved? { saved[path] }

    mutating func hold(_ text: Saved, at path: FilePath) {
        drop(path)
        guard count + text.bytes.count <= Self.limit else { return }
        count += text.bytes.count
        saved[path] = text
    }

    /// Nothing is to be there any more.
    mutating func drop(_ path: FilePath) {
        guard !saved.isEmpty, let old = saved.removeValue(forKey: path) else { return }
        count -= old.bytes.count
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
        count = saved.values.reduce(0) { $0 + $1.bytes.count }
    }

    /// Adds what was saved before these, and not again since.
    mutating func putBack(_ earlier: SavedCiphertexts, unless isTouched: (FilePath) -> Bool) {
        for (path, text) in earlier.saved where saved[path] == nil && !isTouched(path) {
            hold(text, at: path)
        }
    }
}
