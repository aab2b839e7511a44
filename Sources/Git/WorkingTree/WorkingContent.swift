import CGit
import Glibc
public import SystemPackage

/// A path of the index, as far as it matters for what exists only here.
public struct StagedEntry: Sendable, Equatable {
    /// Relative to the top of the repository.
    public var path: FilePath
    /// What is staged.
    public var content: ObjectID
    /// The user said that the file's absence means nothing (`skip-worktree`, as a sparse checkout sets it).
    public var isSkipped: Bool
    /// A submodule.
    public var isSubmodule: Bool
}

extension Repository {
    /// The files of HEAD's commit with their contents; submodules are left out. Empty on an unborn branch.
    public func committedFiles() throws(GitError) -> [FilePath: ObjectID] {
        guard let commit = try commit(at: "HEAD") else { return [:] }
        let files = try leaves(of: FilePath(), commit).filter { $0.entry.mode != GIT_FILEMODE_COMMIT }
        return Dictionary(files.map { ($0.path, $0.entry.id) }, uniquingKeysWith: { first, _ in first })
    }

    /// What is staged, each stage of a conflict too.
    public func stagedEntries() throws(GitError) -> [StagedEntry] {
        let index = try Owned("cannot read the index", free: git_index_free) {
            git_repository_index(&$0, pointer)
        }
        try check(git_index_read(index.pointer, 0), "cannot read the index")
        return (0..<git_index_entrycount(index.pointer)).compactMap { position in
            guard let entry = git_index_get_byindex(index.pointer, position)?.pointee else { return nil }
            return StagedEntry(
                path: FilePath(platformString: entry.path), content: ObjectID(entry.id),
                isSkipped: entry.flags_extended & UInt16(GIT_INDEX_ENTRY_SKIP_WORKTREE.rawValue) != 0,
                isSubmodule: entry.mode == GIT_FILEMODE_COMMIT.rawValue)
        }
    }

    /// Whether a file's bytes are those of an object, and nothing is lost with the file. For others than secrets what
    /// the attributes say of line ends is undone, as `git add` does.
    /// - Parameters:
    ///   - file: its place on disk, no link.
    ///   - path: relative to the top of the repository.
    public func holds(_ id: ObjectID, file: FilePath, path: FilePath) -> Bool {
        var oid = git_oid()
        guard file.withPlatformString({ git_odb_hashfile(&oid, $0, GIT_OBJECT_BLOB) }) == 0 else {
            return false
        }
        if ObjectID(oid) == id { return true }
        guard !StoreFile.isMessage(path), hasPlainRules(above: path) else { return false }
        let code = path.withPlatformString {
            git_repository_hashfile(&oid, pointer, $0, GIT_OBJECT_BLOB, nil)
        }
        return code == 0 && ObjectID(oid) == id
    }

    /// Whether an object is the target of a symbolic link.
    public static func isContent(_ id: ObjectID, ofLink target: [UInt8]) -> Bool {
        var oid = git_oid()
        LibGit2.start()
        return target.withUnsafeBytes { git_odb_hash(&oid, $0.baseAddress, $0.count, GIT_OBJECT_BLOB) } == 0
            && ObjectID(oid) == id
    }

    /// Whether git would ignore a path; false when the rules cannot be read.
    public func ignores(_ path: FilePath) -> Bool {
        guard hasPlainRules(above: path) else { return false }
        var result: Int32 = 0
        return path.withPlatformString { git_ignore_path_is_ignored(&result, pointer, $0) } == 0
            && result != 0
    }

    private func hasPlainRules(above path: FilePath) -> Bool {
        guard let top = workingDirectory else { return false }
        var folder = path
        while folder.removeLastComponent() {
            guard (try? RuleFiles.check(folder, top: top)) != nil else { return false }
        }
        return true
    }
}
