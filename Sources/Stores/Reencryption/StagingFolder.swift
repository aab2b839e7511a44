import CLinux
import Glibc
import System
import SystemPackage

/// The folder in which ciphertexts of a change of recipients wait: `.passdir-reencrypt` in the store's own folder, so that
/// they can be renamed into place.
///
/// It steers nothing: what the change is, and which files in here are this machine's, is told by its notes
/// (`ChangeNotes`). A folder of this name without notes came from somebody else and is left alone. A `.gitignore` keeps
/// git away from it, the mount and pass do not show it.
///
/// A secret that is re-encrypted lies there as `INDEX_OLD_NEW`: its place in the journal's list, the identity of
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

    /// Refuses to begin a change where something has the folder's name that is none of this machine's doing; an empty
    /// folder says nothing and may go.
    static func checkFree(in root: Root, of store: String) throws(StoreError) {
        do {
            guard try root.statusIfPresent(of: path) != nil else { return }
            try root.removeDirectory(path)
        } catch {
            throw foreign(store)
        }
    }

    /// The error about a folder, or anything else of its name, that is not this machine's.
    static func foreign(_ store: String) -> StoreError {
        StoreError(
            .noChange,
            "\(path.string) in the store \"\(store)\" was not created by a change of recipients on this "
                + "machine: someone pushed it, or another machine or an older passdir left it behind, and "
                + "nothing in it is used. Check git log -- \(path.string), then remove it.")
    }

    /// Makes the folder, or takes it up again where the notes say that it is ours.
    static func make(in root: Root) throws(StoreError) -> StagingFolder {
        var isNew = true
        do {
            try root.makeDirectory(path)
        } catch .fileExists {
            // What ends a change needs no room on a full disk.
            let ignoring = try? root.statusIfPresent(of: file(".gitignore"))
            if ignoring?.kind == .regular { return try open(in: root) }
            isNew = false
        } catch {
            throw StoreError(error, "make", path)
        }
        let folder = try open(in: root)
        do {
            try folder.write(Array("*\n".utf8), as: ".gitignore")
        } catch {
            // Without its notes it would count as somebody else's.
            if isNew { try? folder.remove() }
            throw error
        }
        return folder
    }

    /// Locks the folder, for a second process that works on the same files with other notes.
    private static func open(in root: Root) throws(StoreError) -> StagingFolder {
        let lock: OwnedDescriptor
        do throws(Errno) {
            lock = try root.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch {
            throw StoreError(error, "open", path)
        }
        try ChangeNotes.lock(lock)
        return StagingFolder(root: root, lock: lock)
    }

    /// Whether anything has the name of the folder.
    static func exists(in root: Root) -> Bool {
        ((try? root.statusIfPresent(of: path)) ?? nil) != nil
    }

    static func file(_ name: String) -> FilePath {
        path.appending(name)
    }

    /// A new file of ours. What has its name is not written to, whatever it is: it could be a link to another file.
    func create(_ file: FilePath) throws(Errno) -> OwnedDescriptor {
        do throws(Errno) {
            try root.unlink(file)
        } catch .noSuchFileOrDirectory {}
        return try root.open(file, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    /// Writes a file durably, in place of any other.
    func write(_ bytes: [UInt8], as name: String) throws(StoreError) {
        let part = Self.file("part-\(name)")
        try StoreError.wrapping("write", Self.file(name)) {
            let file = try create(part)
            try file.writeDurably(bytes, accessed: nil, modified: nil)
            try root.rename(part, to: Self.file(name))
            try root.synchronizeParent(of: part)
        }
    }

    /// What is staged, by its index: regular files that this machine has noted, as it has noted them. After a swap a
    /// name holds the ciphertext that was in place before.
    func staged(noted: Set<String>) throws(StoreError) -> [Int: StagedName] {
        return try StoreError.wrapping("list", Self.path) {
            var found: [Int: StagedName] = [:]
            for entry in try root.entries(of: Self.path) where noted.contains(entry.name.string) {
                guard let name = StagedName(entry.name.string),
                    let status = try root.statusIfPresent(of: name.path), status.kind == .regular,
                    status.linkCount == 1
                else { continue }
                found[name.index] = name
            }
            return found
        }
    }

    /// Removes what is ours of the folder, and the folder where nothing else is in it; the change is over.
    func remove() throws(StoreError) {
        try StoreError.wrapping("clear", Self.path) {
            for entry in try root.entries(of: Self.path) where Self.isOurs(entry) {
                try root.unlink(Self.path.appending(entry.name))
            }
        }
        do throws(Errno) {
            try root.removeDirectory(Self.path)
        } catch .directoryNotEmpty {
            // Somebody has put something in: that is not ours to remove.
        } catch {
            throw StoreError(error, "remove", Self.path)
        }
    }

    private static func isOurs(_ entry: DirectoryEntry) -> Bool {
        let name = entry.name.string
        return entry.kind != .directory
            && (StagedName(name) != nil || name.hasPrefix("part-") || name == "put" || name == ".gitignore")
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

    /// The name of the file.
    var text: String { "\(index)_\(old.text)_\(new.text)" }
    /// Relative to the store.
    var path: FilePath { StagingFolder.file(text) }
}

extension StagedName {
    init?(_ name: String) {
        let parts = name.split(separator: "_")
        guard parts.count == 3, let index = Int(parts[0]), let old = ContentIdentity(parts[1]),
            let new = ContentIdentity(parts[2])
        else { return nil }
        self.init(index: index, old: old, new: new)
    }
}
