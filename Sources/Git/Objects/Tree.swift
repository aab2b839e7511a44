import CGit
import Glibc
import SystemPackage

/// One entry of a tree.
struct TreeEntry: Sendable {
    var id: ObjectID
    var mode: git_filemode_t

    var isTree: Bool { mode == GIT_FILEMODE_TREE }
}

extension Repository {
    /// The tree of a commit; a tree's own id gives that tree.
    func tree(of id: ObjectID) throws(GitError) -> Owned {
        var oid = id.oid
        let object = try Owned("cannot read \(id)", free: git_object_free) {
            git_object_lookup(&$0, pointer, &oid, GIT_OBJECT_ANY)
        }
        return try Owned("\(id) has no tree", free: git_object_free) {
            git_object_peel(&$0, object.pointer, GIT_OBJECT_TREE)
        }
    }

    /// What a tree holds at a path; nil when nothing.
    func entry(_ path: FilePath, in tree: borrowing Owned) throws(GitError) -> TreeEntry? {
        let root = tree.pointer
        var found: OpaquePointer?
        let code = path.withPlatformString { git_tree_entry_bypath(&found, root, $0) }
        if isAbsent(code) { return nil }
        try check(code, "cannot look up '\(path)'")
        defer { git_tree_entry_free(found) }
        return TreeEntry(id: ObjectID(git_tree_entry_id(found).pointee), mode: git_tree_entry_filemode(found))
    }

    /// Everything below a folder of a tree but the folders themselves, in git's order.
    func leaves(of folder: FilePath, _ id: ObjectID) throws(GitError) -> [(path: FilePath, entry: TreeEntry)]
    {
        let tree = try tree(of: id)
        var found: [(path: FilePath, entry: TreeEntry)] = []
        for position in 0..<git_tree_entrycount(tree.pointer) {
            guard let each = git_tree_entry_byindex(tree.pointer, position) else { continue }
            let path = FilePath(platformString: git_tree_entry_name(each))
            let entry = TreeEntry(
                id: ObjectID(git_tree_entry_id(each).pointee), mode: git_tree_entry_filemode(each))
            if entry.isTree {
                found += try leaves(of: folder.appending(path.components), entry.id)
            } else {
                found.append((folder.appending(path.components), entry))
            }
        }
        return found
    }

    /// The files that a commit (or tree) holds below a folder, submodules included; none where it holds no folder. The empty
    /// path is its top.
    public func files(below folder: FilePath, in commit: ObjectID) throws(GitError) -> [FilePath] {
        guard !folder.isEmpty else { return try leaves(of: folder, treeID(of: commit)).map(\.path) }
        try checkedPath(folder)
        guard let found = try entry(folder, in: try tree(of: commit)), found.isTree else { return [] }
        return try leaves(of: folder, found.id).map(\.path)
    }

    /// The blob that a commit (or tree) holds at a path; nil when there is none, or a folder.
    public func blobID(at path: FilePath, in commit: ObjectID) throws(GitError) -> ObjectID? {
        try checkedPath(path)
        let found = try entry(path, in: try tree(of: commit))
        guard let found, !found.isTree, found.mode != GIT_FILEMODE_COMMIT else { return nil }
        return found.id
    }

    /// The size of a blob in bytes, from the object's header: nothing of it is read.
    public func blobSize(_ id: ObjectID) throws(GitError) -> Int {
        try ObjectReader(self).header(id).size
    }

    /// The content of a blob.
    /// - Parameter limit: The most bytes that it may have.
    /// - Throws: `.invalid` beyond the limit, before anything is read.
    public func blob(_ id: ObjectID, atMost limit: Int) throws(GitError) -> [UInt8] {
        let size = try blobSize(id)
        guard size <= limit else {
            throw GitError(code: .invalid, message: "it has \(size) bytes, more than \(limit)")
        }
        return try withBlob(id) { Array($0) }
    }

    /// Lends the content of a blob, without a copy.
    func withBlob<R>(
        _ id: ObjectID, _ use: (UnsafeRawBufferPointer) throws(GitError) -> R
    ) throws(GitError) -> R {
        var oid = id.oid
        let blob = try Owned("cannot read blob \(id)", free: git_blob_free) {
            git_blob_lookup(&$0, pointer, &oid)
        }
        let count = Int(git_blob_rawsize(blob.pointer))
        return try use(UnsafeRawBufferPointer(start: git_blob_rawcontent(blob.pointer), count: count))
    }

    /// Stores bytes as a blob, as they are: no filter of `.gitattributes` changes a ciphertext.
    public func writeBlob(_ bytes: [UInt8]) throws(GitError) -> ObjectID {
        var oid = git_oid()
        // Of a full disk libgit2 says nothing.
        errno = 0
        let code = withBytes(bytes) { git_blob_create_from_buffer(&oid, pointer, $0, bytes.count) }
        if code < 0, errno == ENOSPC || errno == EDQUOT {
            throw .system(Errno(rawValue: errno), "cannot write a blob")
        }
        try check(code, "cannot write a blob")
        return ObjectID(oid)
    }

    /// The name that bytes have as a blob.
    public static func blobID(of bytes: [UInt8]) throws(GitError) -> ObjectID {
        var oid = git_oid()
        try check(
            withBytes(bytes) { git_odb_hash(&oid, $0, bytes.count, GIT_OBJECT_BLOB) }, "cannot hash a blob")
        return ObjectID(oid)
    }
}

/// Lends the bytes; the pointer is never nil, which an empty array's is.
func withBytes<R>(_ bytes: [UInt8], _ use: (UnsafeRawPointer) -> R) -> R {
    bytes.isEmpty
        ? withUnsafeBytes(of: UInt8(0)) { use($0.baseAddress!) }
        : bytes.withUnsafeBytes { use($0.baseAddress!) }
}
