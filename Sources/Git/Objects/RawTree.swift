import CGit
import Glibc
import SystemPackage

/// One entry of a tree as it lies in the object, before anything was made of it: others may have written anything.
struct RawEntry: Equatable {
    var mode: UInt32
    var name: [UInt8]
    var id: ObjectID

    var isTree: Bool { mode == 0o040000 }
    var isSubmodule: Bool { mode == 0o160000 }
    var isLink: Bool { mode == 0o120000 }
    /// A mode that git writes, or once wrote (files that the group may write).
    var isKnown: Bool { isTree || kind != nil }

    /// What it is, where it is no folder; nil for a mode that git does not know.
    var kind: TreeItem.Kind? {
        switch mode {
        case 0o100644, 0o100664: .file
        case 0o100755: .executable
        case 0o120000: .link
        case 0o160000: .submodule
        default: nil
        }
    }
}

/// Reads objects with a look at their size first.
///
/// libgit2's own trees and differences take whatever a tree holds, at any size, and hide entries that are out of order.
struct ObjectReader: ~Copyable {
    private let database: Owned

    init(_ repository: Repository) throws(GitError) {
        database = try Owned("cannot open the objects", free: git_odb_free) {
            git_repository_odb(&$0, repository.pointer)
        }
    }

    /// Of what lies on the disk now, whatever the repository remembers.
    init(fresh repository: Repository) throws(GitError) {
        let folder = repository.commonDirectory.appending("objects")
        database = try Owned("cannot open the objects", free: git_odb_free) { made in
            folder.withPlatformString { git_odb_open(&made, $0) }
        }
    }

    /// Whether an object is there.
    func has(_ id: ObjectID) -> Bool {
        var oid = id.oid
        return git_odb_exists_ext(database.pointer, &oid, GIT_ODB_LOOKUP_NO_REFRESH.rawValue) == 1
    }

    /// Lends libgit2's own.
    func withDatabase<R>(_ body: (OpaquePointer) throws(GitError) -> R) throws(GitError) -> R {
        try body(database.pointer)
    }

    /// The kind and size of an object, from its header alone.
    func header(_ id: ObjectID) throws(GitError) -> (kind: git_object_t, size: Int) {
        var (size, kind, oid) = (0, GIT_OBJECT_INVALID, id.oid)
        try check(git_odb_read_header(&size, &kind, database.pointer, &oid), "cannot read \(id)")
        // A size of 64 bits is its writer's word; sums of such sizes would end this process.
        guard size >= 0 else { throw GitError(code: .corrupt, message: "\(id) claims an impossible size") }
        return (kind, size)
    }

    /// Lends the bytes of an object whose size was looked at.
    func withBytes<R>(of id: ObjectID, _ body: (UnsafeRawBufferPointer) -> R) throws(GitError) -> R {
        var oid = id.oid
        let object = try Owned("cannot read \(id)", free: git_odb_object_free) {
            git_odb_read(&$0, database.pointer, &oid)
        }
        return body(
            UnsafeRawBufferPointer(
                start: git_odb_object_data(object.pointer), count: git_odb_object_size(object.pointer)))
    }

    /// The entries of a tree, in its order.
    /// - Throws: `.invalid` when it is no tree, the object is longer than `bytes`, or it holds more than `limit` entries.
    func entries(
        of tree: ObjectID, atMost limit: Int, bytes: Int = TreeBounds.list
    ) throws(GitError) -> [RawEntry] {
        let (kind, size) = try header(tree)
        guard kind == GIT_OBJECT_TREE else {
            throw GitError(code: .invalid, message: "the object \(tree) is not a tree")
        }
        guard size <= bytes else {
            throw GitError(code: .invalid, message: "a tree object is \(size) bytes long")
        }
        guard let entries = try withBytes(of: tree, { Self.parse($0, atMost: limit) }) else {
            throw GitError(code: .corrupt, message: "the tree object \(tree) is damaged")
        }
        guard entries.count <= limit else {
            throw GitError(code: .invalid, message: "a folder holds more than \(limit) files and folders")
        }
        return entries
    }

    /// What none of the other trees has just so at the same name, submodules left out; each with what these have there.
    func news(
        in tree: ObjectID, beside others: [ObjectID], bytes: Int = TreeBounds.list
    ) throws(GitError) -> [(entry: RawEntry, there: [RawEntry])] {
        let before = try others.map { other throws(GitError) in
            Dictionary(
                try entries(of: other, atMost: .max, bytes: bytes).map { ($0.name, $0) },
                uniquingKeysWith: { first, _ in first })
        }
        var found: [(entry: RawEntry, there: [RawEntry])] = []
        for entry in try entries(of: tree, atMost: .max, bytes: bytes) where !entry.isSubmodule {
            let there = before.compactMap { $0[entry.name] }
            if !there.contains(entry) { found.append((entry, there)) }
        }
        return found
    }

    /// Mode in octal digits, space, name, NUL, 20 bytes of id, again and again; one more than the limit at most.
    private static func parse(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) -> [RawEntry]? {
        var entries: [RawEntry] = []
        var position = 0
        while position < bytes.count, entries.count <= limit {
            guard let space = bytes.position(of: UInt8(ascii: " "), from: position), space > position,
                space - position <= 7, let end = bytes.position(of: 0, from: space + 1),
                bytes.count - end > 20
            else { return nil }
            var mode: UInt32 = 0
            for digit in bytes[position..<space] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit) else { return nil }
                mode = mode << 3 | UInt32(digit - UInt8(ascii: "0"))
            }
            var oid = git_oid()
            withUnsafeMutableBytes(of: &oid) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[(end + 1)..<(end + 21)]))
            }
            entries.append(RawEntry(mode: mode, name: Array(bytes[(space + 1)..<end]), id: ObjectID(oid)))
            position = end + 21
        }
        return entries
    }
}

extension UnsafeRawBufferPointer {
    /// Where a byte stands first at or behind a position.
    fileprivate func position(of byte: UInt8, from start: Int) -> Int? {
        guard let baseAddress, start < count,
            let found = memchr(baseAddress + start, Int32(byte), count - start)
        else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
