import CGit
import Glibc
import SystemPackage

extension Repository {
    /// Brings the index in step with a commit (or a tree that is about to be one) for the named paths only; what
    /// else the user has staged stays. Name files, not folders: the paths of `preparedTree`'s changes.
    ///
    /// The new index replaces the one that was read, or nothing does, so no `git add` of the user gets lost;
    /// `index.lock` is there for microseconds only, since git's programs fail when they meet it. Entries carry the
    /// metadata of the file where its bytes are the committed ones, so `git status` need not read it again; otherwise
    /// they carry none and git sees the file as modified. Like `git add`, it rewrites the whole index: the cost grows
    /// with the number of files (1 ms or so for each thousand).
    /// - Throws: `.locked` at once when another process holds `index.lock` or has written the index meanwhile;
    ///   `.unsupported` for a split or sparse index.
    public func updateIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) {
        guard let top = workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no index")
        }
        guard !paths.isEmpty else { return }
        let tree = try tree(of: commit)
        let root = try WorkingRoot(top)
        let file = try IndexFile(gitDirectory.appending("index"))
        for path in paths {
            try checkedPath(path)
            if let entry = try entry(path, in: tree), !entry.isTree {
                var now = timespec()
                clock_gettime(CLOCK_REALTIME_COARSE, &now)
                let stat = try metadata(of: path, holding: entry.id, root)
                try file.put(path, entry, stat: stat, readAt: now)
            } else {
                try file.remove(path)
            }
        }
        try file.commit()
    }

    /// The metadata of the file at `path` if its bytes are those of the blob, else nil.
    private func metadata(
        of path: FilePath, holding blob: ObjectID, _ root: borrowing WorkingRoot
    ) throws(GitError) -> stat? {
        switch try WorkingFile.read(path, in: root) {
        case .file(let bytes, _, let stat?), .link(let bytes, let stat?):
            return try Repository.blobID(of: bytes) == blob ? stat : nil
        default: return nil
        }
    }
}
