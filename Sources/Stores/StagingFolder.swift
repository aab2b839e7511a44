import CLinux
import Glibc
import SystemPackage

/// The folder in which a change of recipients is prepared: `.passdir-reencrypt` in the store's own folder, so that
/// what is in it can be renamed into place.
///
/// Whoever works on the change holds a lock on the folder: one change at a time, by whatever process, and a folder
/// that nobody holds is that of a change that was interrupted. A `.gitignore` keeps git away from it, the mount and
/// pass do not show it.
///
/// A secret that is encrypted anew lies there as `INDEX_OLD_NEW`: its place in the journal's list, the identity of
/// the ciphertext that it was made from, and its own. It is put in place by swapping the two files, so that the name
/// then holds the old ciphertext: the identities tell at any moment which of the two it is.
final class StagingFolder: Sendable {
    static let name: FilePath.Component = ".passdir-reencrypt"
    static let path = FilePath(root: nil, [name])

    let root: Root
    private let lock: OwnedDescriptor

    private init(root: Root, lock: consuming OwnedDescriptor) {
        self.root = root
        self.lock = lock
    }

    /// Makes the folder, or takes over an empty one; `changeUnderWay` when there is a change already.
    static func make(in root: Root) throws(StoreError) -> StagingFolder {
        do {
            try root.makeDirectory(path)
        } catch .fileExists {
        } catch {
            throw StoreError(error, "make", path)
        }
        guard let folder = try open(in: root) else { return try make(in: root) }
        guard try folder.readJournal() == nil else {
            throw StoreError(
                .changeUnderWay,
                "a change of recipients of this store was interrupted: finish it with passdir "
                    + "recipients resume, or take it back with passdir recipients abort.")
        }
        try folder.empty()
        try folder.write(Array("*\n".utf8), as: ".gitignore")
        return folder
    }

    /// Opens and locks the folder; nil when there is none. `changeUnderWay` when somebody works on it.
    static func open(in root: Root) throws(StoreError) -> StagingFolder? {
        do {
            let lock = try root.open(path, flags: O_RDONLY | O_DIRECTORY)
            guard flock(lock.raw, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK {
                    throw StoreError(
                        .changeUnderWay,
                        "a change of recipients of this store is under way in another process.")
                }
                throw StoreError(.last, "lock", path)
            }
            // Removed between the two calls by the process that was at work.
            guard let now = try root.statusIfPresent(of: path),
                now.identity.inode == (try lock.status()).identity.inode
            else { return nil }
            return StagingFolder(root: root, lock: lock)
        } catch let error as StoreError {
            throw error
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch {
            throw StoreError(error as? Errno ?? .ioError, "open", path)
        }
    }

    /// Whether a change was begun and not finished, by anybody.
    static func exists(in root: Root) -> Bool {
        ((try? root.statusIfPresent(of: path)) ?? nil) != nil
    }

    static func file(_ name: String) -> FilePath {
        path.appending(name)
    }

    /// Writes a file durably, in place of any other.
    func write(_ bytes: [UInt8], as name: String) throws(StoreError) {
        let part = Self.file("part-\(name)")
        do {
            let file = try root.open(part, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
            try file.writeDurably(bytes, accessed: nil, modified: nil)
            try root.rename(part, to: Self.file(name))
            try root.synchronizeParent(of: part)
        } catch {
            throw StoreError(error, "write", Self.file(name))
        }
    }

    /// The bytes of a file; nil when it is not there.
    func read(_ name: String) throws(StoreError) -> [UInt8]? {
        do {
            return try root.open(Self.file(name), flags: O_RDONLY).readAll(limit: 1 << 28).bytes
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw StoreError(error, "read", Self.file(name))
        }
    }

    func readJournal() throws(StoreError) -> ChangeJournal? {
        guard let bytes = try read(ChangeJournal.name) else { return nil }
        guard let journal = ChangeJournal(bytes) else {
            throw StoreError(
                .system(.ioError),
                "\(Self.file(ChangeJournal.name).string) is damaged, or by another version of "
                    + "passdir: see what git status says, then remove \(Self.path.string).")
        }
        return journal
    }

    /// What is staged, by its index.
    func staged() throws(StoreError) -> [Int: StagedName] {
        do {
            var found: [Int: StagedName] = [:]
            for entry in try root.entries(of: Self.path) {
                guard let name = StagedName(entry.name.string) else { continue }
                found[name.index] = name
            }
            return found
        } catch {
            throw StoreError(error, "list", Self.path)
        }
    }

    /// Removes everything in the folder, the journal last.
    func empty() throws(StoreError) {
        do {
            let entries = try root.entries(of: Self.path)
            for entry in entries where entry.name.string != ChangeJournal.name {
                try root.unlink(Self.path.appending(entry.name))
            }
            if entries.contains(where: { $0.name.string == ChangeJournal.name }) {
                try root.unlink(Self.file(ChangeJournal.name))
            }
        } catch {
            throw StoreError(error, "clear", Self.path)
        }
    }

    /// Removes the folder; the change is over.
    func remove() throws(StoreError) {
        try empty()
        do {
            try root.removeDirectory(Self.path)
        } catch {
            throw StoreError(error, "remove", Self.path)
        }
    }
}

/// What of a file's identity stays while it is renamed.
struct ContentIdentity: Sendable, Equatable {
    var inode: UInt64
    var size: Int64
    var modified: FileTime

    init(_ identity: CiphertextIdentity) {
        inode = identity.inode
        size = identity.size
        modified = identity.modified
    }

    init?(_ text: Substring) {
        let parts = text.split(separator: ".").compactMap { Int64($0) }
        guard parts.count == 4 else { return nil }
        inode = UInt64(bitPattern: parts[0])
        size = parts[1]
        modified = FileTime(seconds: parts[2], nanoseconds: parts[3])
    }

    var text: String { "\(Int64(bitPattern: inode)).\(size).\(modified.seconds).\(modified.nanoseconds)" }
}

/// The name of a staged secret.
struct StagedName: Sendable, Equatable {
    let index: Int
    let old: ContentIdentity
    let new: ContentIdentity
    /// Relative to the store.
    let path: FilePath

    init(index: Int, old: ContentIdentity, new: ContentIdentity) {
        self.index = index
        self.old = old
        self.new = new
        path = StagingFolder.file("\(index)_\(old.text)_\(new.text)")
    }

    init?(_ name: String) {
        let parts = name.split(separator: "_")
        guard parts.count == 3, let index = Int(parts[0]), let old = ContentIdentity(parts[1]),
            let new = ContentIdentity(parts[2])
        else { return nil }
        self.init(index: index, old: old, new: new)
    }
}
