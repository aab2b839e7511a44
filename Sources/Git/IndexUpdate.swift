import CGit
import Glibc
import SystemPackage

/// A new index that waits, finished, beside the one that it replaces; gone when it isn't published.
///
/// Unchecked because of the bytes of the replaced index, which are a class's: it has one owner, as it cannot be copied,
/// and so have they; it may go from the thread that prepared it to the one that publishes it.
public struct PreparedIndex: ~Copyable, @unchecked Sendable {
    private let copy: IndexCopy?
    /// The finished file, held open to be known again.
    private let file: Descriptor?
    /// The index that it replaces.
    private let source: IndexSource?

    /// Nothing is to be done.
    fileprivate init() {
        copy = nil
        file = nil
        source = nil
    }

    fileprivate init(
        _ copy: consuming IndexCopy, _ file: consuming Descriptor? = nil, replacing source: IndexSource? = nil
    ) {
        self.copy = consume copy
        self.file = consume file
        self.source = source
    }

    /// Puts it into the index's place: a matter of microseconds.
    /// - Throws: `.locked` when another process holds `index.lock` or has written the index since this was prepared.
    public borrowing func publish() throws(GitError) {
        guard let index = try publishCopy() else { return }
        var facts = stat()
        // Of our own file: another one may lie in its place already.
        guard let raw = rawFile, fstat(raw, &facts) == 0 else { return }
        IndexChecksum.remember(index, facts)
    }

    /// Frees the old index. Call it when all else is done: that takes milliseconds for a large one.
    public consuming func discard() {}

    private borrowing func publishCopy() throws(GitError) -> FilePath? {
        switch copy {
        case .some(let copy):
            try copy.publish()
            return copy.index
        case .none: return nil
        }
    }

    private var rawFile: CInt? {
        switch file {
        case .some(let file): file.raw
        case .none: nil
        }
    }
}

/// Entries of an index that are to become others.
public struct IndexChange: Sendable {
    let index: FilePath
    let edits: [IndexEdit]

    /// Writes the new index beside the old one; see `Repository.preparedIndex`.
    /// - Throws: as `Repository.updateIndex`.
    public func prepared() throws(GitError) -> PreparedIndex {
        guard !edits.isEmpty else { return PreparedIndex() }
        if let patched = try patched() { return patched }
        return PreparedIndex(try reassembled())
    }

    /// Nil when there is no index, or one with something in it that `IndexPatch` does not know.
    private func patched() throws(GitError) -> PreparedIndex? {
        guard let source = try IndexSource.read(index) else { return nil }
        let copy = try IndexCopy(of: index, old: source.facts)
        try IndexChecksum.verify(index, source.facts, source.bytes)
        let written = FileTime(source.facts.st_mtim)
        guard let patch = try IndexPatch(source.writable, written: written, edits) else { return nil }
        let file = try copy.create()
        try patch.write(to: file, from: source)
        return PreparedIndex(copy, file, replacing: source)
    }

    /// The way of libgit2.
    func reassembled() throws(GitError) -> IndexCopy {
        let file = try IndexFile(index)
        for edit in edits { try file.apply(edit) }
        return try file.written()
    }
}

extension Repository {
    /// Brings the index in step with a commit (or a tree that is about to be one) for the named paths only; what
    /// else the user has staged stays. Name files, not folders: the paths of `preparedTree`'s changes.
    ///
    /// The new index replaces the one that was read, or nothing does, so no `git add` of the user gets lost;
    /// `index.lock` is there for microseconds only, since git's programs fail when they meet it. Entries carry the
    /// metadata of the file where its bytes are the committed ones, so `git status` need not read it again; otherwise
    /// they carry none and git sees the file as modified.
    /// - Throws: `.locked` at once when another process holds `index.lock` or has written the index meanwhile;
    ///   `.unsupported` for a split or sparse index; `.corrupt` for one that is damaged.
    public func updateIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) {
        try preparedIndex(paths: paths, to: commit).publish()
    }

    /// The first part of `updateIndex`, which takes the time: all but the moment in which the index is replaced.
    ///
    /// Like git's, a new index is a new file with a checksum over all of it, so some bytes are copied for each file of
    /// the repository: 100,000 cost about 10 ms, as nothing but the edited entries is looked into.
    /// - Throws: as `updateIndex`.
    public func preparedIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) -> PreparedIndex {
        try indexChange(paths: paths, to: commit).prepared()
    }

    /// What `preparedIndex` has to do, told so that any thread can do it.
    /// - Throws: as `updateIndex`.
    public func indexChange(paths: [FilePath], to commit: ObjectID) throws(GitError) -> IndexChange {
        guard let top = workingDirectory else {
            throw GitError(code: .unsupported, message: "a bare repository has no index")
        }
        let tree = try tree(of: commit)
        let root = try WorkingRoot(top)
        var edits: [IndexEdit] = []
        for path in paths {
            try checkedPath(path)
            if let blob = try entry(path, in: tree), !blob.isTree {
                var now = timespec()
                clock_gettime(CLOCK_REALTIME_COARSE, &now)
                let stat = try metadata(of: path, holding: blob.id, root)
                edits.append(IndexEdit(path: path, entry: IndexEntry(blob, stat: stat, readAt: now)))
            } else {
                edits.append(IndexEdit(path: path, entry: nil))
            }
        }
        return IndexChange(index: gitDirectory.appending("index"), edits: edits)
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
