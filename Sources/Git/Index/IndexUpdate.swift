import CGit
import Glibc
import System
import SystemPackage

/// A new index, put together in memory: all but the writing, which takes the disk.
///
/// Unchecked because of the pointers of the patch: they point into the source and into memory of the patch's own, which
/// live as long as this, and nobody changes any of it.
public struct IndexDraft: @unchecked Sendable {
    private let source: IndexSource
    private let patch: IndexPatch
    private let checksum: [UInt8]

    fileprivate init(_ index: FilePath, _ edits: [IndexEdit]) throws(GitError) {
        let source = try IndexSource.read(index)
        let written = source.facts.map { IndexTime($0.st_mtim) } ?? IndexTime(IndexTime.clock())
        patch = try IndexSource.namingDamage(of: index) { () throws(GitError) in
            if let facts = source.facts {
                try source.withBytes { bytes throws(GitError) in
                    try IndexChecksum.verify(index, facts, bytes)
                }
            }
            return try IndexPatch(source.writable, written: written, edits)
        }
        self.source = source
        checksum = try patch.checksum()
    }

    /// Writes it beside the index that it is to replace; `PreparedIndex.synchronize` brings it onto the disk.
    /// - Throws: `.locked` when another process holds `index.lock`.
    public func written() throws(GitError) -> PreparedIndex {
        PreparedIndex(
            try IndexCopy(of: source) { file throws(GitError) in
                try patch.write(to: file, checksum: checksum)
            })
    }

    /// Whether the index is still the one that it was made of.
    public var isCurrent: Bool { source.isCurrent }
}

/// A new index that waits, finished, beside the one that it replaces; gone when it isn't published.
public struct PreparedIndex {
    /// Nil where nothing is to be done.
    private let copy: IndexCopy?

    fileprivate init(_ copy: IndexCopy?) {
        self.copy = copy
    }

    /// Puts it into the index's place: a matter of microseconds.
    /// - Throws: `.locked` when another process holds `index.lock` or has written the index since this was prepared.
    public func publish() throws(GitError) {
        guard let copy else { return }
        try copy.publish()
        // Of our own file: another one may lie in its place already.
        if let facts = try? copy.file.facts() { IndexChecksum.remember(copy.index, facts) }
    }

    /// Brings the published index onto the disk, which takes the longer the larger it is; what it replaced goes then.
    ///
    /// Whoever notes what is under way keeps the note until this has returned: with it `Repository.restoreDamagedIndex`
    /// mends what a power cut left before.
    public func synchronize() throws(GitError) {
        try copy?.synchronize()
    }
}

/// Entries of an index that are to become others.
public struct IndexChange: Sendable {
    let index: FilePath
    let edits: [IndexEdit]

    /// Writes the new index beside the old one; see `Repository.preparedIndex`.
    /// - Throws: as `Repository.updateIndex`.
    public func prepared() throws(GitError) -> PreparedIndex {
        try draft()?.written() ?? PreparedIndex(nil)
    }

    /// The new index, not written yet; nil when there is nothing to change.
    /// - Throws: as `Repository.updateIndex`.
    public func draft() throws(GitError) -> IndexDraft? {
        edits.isEmpty ? nil : try IndexDraft(index, edits)
    }
}

extension Repository {
    /// Brings the index in step with a commit (or a tree that is about to be one) for the named paths only; what
    /// else the user has staged stays. Name files, not folders: the paths of `preparedTree`'s changes.
    ///
    /// The new index replaces the one that was read, or nothing does, so no `git add` of the user gets lost;
    /// `index.lock` is there for no longer than it must be, since git's programs fail when they meet it. Entries carry the
    /// metadata of the file where its bytes are the committed ones, so `git status` need not read it again; otherwise
    /// they carry none and git sees the file as modified.
    /// - Throws: `.locked` at once when another process holds `index.lock` or has written the index meanwhile;
    ///   `.unsupported` for a split or sparse index; `.corrupt` for one that is damaged.
    public func updateIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) {
        let index = try preparedIndex(paths: paths, to: commit)
        try index.publish()
        try index.synchronize()
    }

    /// The first part of `updateIndex`, which takes the time: all but the moment in which the index is replaced.
    ///
    /// Like git's, a new index is a new file with a checksum over all of it, so some bytes are copied for each file of
    /// the repository: 100,000 cost about 10 ms, as nothing but the edited entries is looked into.
    /// - Throws: as `updateIndex`.
    public func preparedIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) -> PreparedIndex {
        guard let top = workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no index")
        }
        let tree = try tree(of: commit)
        let root = try WorkingRoot(top)
        var edits: [IndexEdit] = []
        for path in paths {
            try checkedPath(path)
            if let blob = try entry(path, in: tree), !blob.isTree {
                let readAt = IndexTime.clock()
                let stat = try metadata(of: path, holding: blob.id, root)
                edits.append(IndexEdit(path: path, entry: IndexEntry(blob, stat: stat, readAt: readAt)))
            } else {
                edits.append(IndexEdit(path: path, entry: nil))
            }
        }
        return try IndexChange(index: gitDirectory.appending("index"), edits: edits).prepared()
    }

    /// The metadata of the file at `path` if its bytes are those of the blob, else nil.
    private func metadata(
        of path: FilePath, holding blob: ObjectID, _ root: borrowing WorkingRoot
    ) throws(GitError) -> stat? {
        switch try WorkingFile.read(path, in: root) {
        case .file(let bytes, _, let stat?):
            return try blobID(ofFile: bytes, at: path, known: [blob]) == blob ? stat : nil
        case .link(let bytes, let stat?):
            return try Repository.blobID(of: bytes) == blob ? stat : nil
        default: return nil
        }
    }
}
