import System
import SystemPackage

/// The files of which the user has told git that their absence from the working tree means nothing: their index entries are
/// marked skip-worktree, as a sparse checkout does, or assume-unchanged (git-update-index(1)).
///
/// The index is read when the first file is asked for, and not again: make one for each look at the working tree.
struct ExcusedAbsences: ~Copyable {
    private let index: FilePath
    private var names: Set<[UInt8]>?

    init(index: FilePath) {
        self.index = index
    }

    /// Whether the absence of a file, relative to the top, means nothing.
    /// - Throws: `.corrupt` for an index that is damaged.
    mutating func contains(_ path: FilePath) throws(GitError) -> Bool {
        if names == nil { names = try Self.read(index) }
        // Most indexes mark nothing.
        guard let names, !names.isEmpty else { return false }
        return names.contains(path.bytes)
    }

    /// Over the bytes: no entry becomes an object, and libgit2 reads no index without a checksum (`index.skipHash`). One of
    /// a version that nobody knows yet excuses nothing: no commit gets into it either.
    private static func read(_ index: FilePath) throws(GitError) -> Set<[UInt8]> {
        let source = try IndexSource.read(index)
        return try IndexSource.namingDamage(of: index) { () throws(GitError) in
            try source.withBytes { bytes throws(GitError) in
                guard var scan = try IndexScan(bytes) else { return [] }
                var names: Set<[UInt8]> = []
                while let entry = try scan.next() {
                    if entry.isAbsenceExcused, entry.stage == 0 { names.insert(Array(entry.name)) }
                }
                return names
            }
        }
    }
}

extension Repository {
    /// What may be missing, as the index says now.
    var excusedAbsences: ExcusedAbsences { ExcusedAbsences(index: gitDirectory.appending("index")) }
}
