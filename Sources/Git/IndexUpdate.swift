import CGit
import Glibc
import System
import SystemPackage

/// When the bytes of a new index are on the disk: an index that a power failure cuts short would keep the user's next
/// `git add` from working.
public enum IndexDurability: Sendable {
    /// Before it takes the place of the old one.
    case whenPublished
    /// When it is settled: that takes milliseconds for 10 MB, in which the branch can move already. Until then the old
    /// index lies beside it, where `Repository.repairIndex` finds it; so there must be a note that something is on its
    /// way.
    case whenSettled
}

/// A new index, put together in memory: all but the writing, which takes the disk.
///
/// Unchecked because of the pointers of the patch: they point into the source and into memory of the patch's own, which
/// live as long as this, and nobody else has them.
public struct IndexDraft: ~Copyable, @unchecked Sendable {
    fileprivate let index: FilePath
    fileprivate let source: IndexSource
    fileprivate let patch: IndexPatch
    fileprivate let checksum: [UInt8]

    /// Writes it beside the index that it is to replace.
    /// - Throws: `.locked` when another process holds `index.lock`.
    public consuming func written(durable: IndexDurability) throws(GitError) -> PreparedIndex {
        let copy = try IndexCopy(of: index, old: source.facts)
        let file = try copy.create()
        try patch.write(to: file, checksum: checksum)
        // One without a checksum cannot be told from one that was cut short.
        let isDurable = durable == .whenPublished || !patch.hasChecksum
        if isDurable { try GitError.wrapping("cannot write the index", file.synchronize()) }
        return PreparedIndex(copy, file, replacing: source, isDurable: isDurable)
    }
}

/// A new index that waits, finished, beside the one that it replaces; gone when it isn't published.
///
/// Unchecked because of the classes in it, the bytes of the replaced index and a name: it has one owner, as it cannot be
/// copied, and so have they; it may go from the thread that prepared it to the one that publishes it.
public struct PreparedIndex: ~Copyable, @unchecked Sendable {
    private let copy: IndexCopy?
    /// The finished file, held open to be known again.
    private let file: OwnedDescriptor?
    /// The index that it replaces.
    private let source: IndexSource?
    private var isDurable: Bool

    /// Nothing is to be done.
    fileprivate init() {
        copy = nil
        file = nil
        source = nil
        isDurable = true
    }

    fileprivate init(
        _ copy: consuming IndexCopy, _ file: consuming OwnedDescriptor? = nil,
        replacing source: IndexSource? = nil,
        isDurable: Bool
    ) {
        self.copy = consume copy
        self.file = consume file
        self.source = source
        self.isDurable = isDurable
    }

    /// Puts it into the index's place: a matter of microseconds.
    /// - Throws: `.locked` when another process holds `index.lock` or has written the index since this was prepared.
    public mutating func publish() throws(GitError) {
        guard let index = try publishCopy() else { return }
        var facts = stat()
        // Of our own file: another one may lie in its place already.
        guard let raw = rawFile, fstat(raw, &facts) == 0 else { return }
        IndexChecksum.remember(index, facts)
    }

    /// Makes a published index durable and frees the old one. Call it when all else is done: that takes milliseconds for
    /// a large one.
    /// - Throws: when the disk fails; the old index is then still there, for `Repository.repairIndex`.
    public consuming func settle() throws(GitError) {
        guard !isDurable else { return }
        do throws(GitError) {
            try sync()
        } catch {
            leaveCopy()
            throw error
        }
    }

    private mutating func publishCopy() throws(GitError) -> FilePath? {
        if let index = try exchangeCopy() {
            if isDurable { removeCopy() }
            return index
        }
        if !isDurable {
            try sync()
            isDurable = true
        }
        switch copy {
        case .some(let copy):
            try copy.replace()
            return copy.index
        case .none: return nil
        }
    }

    private borrowing func exchangeCopy() throws(GitError) -> FilePath? {
        switch copy {
        case .some(let copy): try copy.exchange() ? copy.index : nil
        case .none: nil
        }
    }

    private borrowing func removeCopy() {
        switch copy {
        case .some(let copy): copy.remove()
        case .none: break
        }
    }

    private borrowing func leaveCopy() {
        switch copy {
        case .some(let copy): copy.leave()
        case .none: break
        }
    }

    private borrowing func sync() throws(GitError) {
        switch file {
        case .some(let file): try GitError.wrapping("cannot write the index", file.synchronize())
        case .none: break
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
    public func prepared(durable: IndexDurability = .whenPublished) throws(GitError) -> PreparedIndex {
        guard !edits.isEmpty else { return PreparedIndex() }
        if let draft = try draft() { return try draft.written(durable: durable) }
        return PreparedIndex(try reassembled(), isDurable: true)
    }

    /// The new index, not written yet.
    /// - Returns: nil when there is no index, one with something in it that `IndexPatch` does not know, or nothing to
    ///   change.
    /// - Throws: as `Repository.updateIndex`.
    public func draft() throws(GitError) -> IndexDraft? {
        guard !edits.isEmpty, let source = try IndexSource.read(index) else { return nil }
        try source.withBytes { bytes throws(GitError) in
            try IndexChecksum.verify(index, source.facts, bytes)
        }
        let written = FileTime(source.facts.st_mtim)
        guard let patch = try IndexPatch(source.writable, written: written, edits) else { return nil }
        return IndexDraft(index: index, source: source, patch: patch, checksum: try patch.checksum())
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
    /// `index.lock` is there for no longer than it must be, since git's programs fail when they meet it. Entries carry the
    /// metadata of the file where its bytes are the committed ones, so `git status` need not read it again; otherwise
    /// they carry none and git sees the file as modified.
    /// - Throws: `.locked` at once when another process holds `index.lock` or has written the index meanwhile;
    ///   `.unsupported` for a split or sparse index; `.corrupt` for one that is damaged.
    public func updateIndex(paths: [FilePath], to commit: ObjectID) throws(GitError) {
        var prepared = try preparedIndex(paths: paths, to: commit)
        try prepared.publish()
    }

    /// The first part of `updateIndex`, which takes the time: all but the moment in which the index is replaced.
    ///
    /// Like git's, a new index is a new file with a checksum over all of it, so some bytes are copied for each file of
    /// the repository: 100,000 cost about 10 ms, as nothing but the edited entries is looked into.
    /// - Throws: as `updateIndex`.
    public func preparedIndex(
        paths: [FilePath], to commit: ObjectID, durable: IndexDurability = .whenPublished
    ) throws(GitError) -> PreparedIndex {
        try indexChange(paths: paths, to: commit).prepared(durable: durable)
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
                let readAt = FileTime.clock()
                let stat = try metadata(of: path, holding: blob.id, root)
                edits.append(IndexEdit(path: path, entry: IndexEntry(blob, stat: stat, readAt: readAt)))
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
        case .file(let bytes, _, let stat?):
            return try blobID(ofFile: bytes, at: path, known: [blob]) == blob ? stat : nil
        case .link(let bytes, let stat?):
            return try Repository.blobID(of: bytes) == blob ? stat : nil
        default: return nil
        }
    }
}
