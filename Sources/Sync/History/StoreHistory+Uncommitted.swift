import Git
import Stores
import SystemPackage

/// Where files lie of which the newest commit does not tell: it is judged who may read them, whatever git knows.
extension StoreHistory {
    /// The secrets on disk that the tip does not have: not committed yet, ignored, or of a repository inside the store.
    /// - Parameter known: those that it has.
    func strays(besides known: Set<FilePath>) -> [FilePath] {
        ((try? store.secrets(below: FilePath(), nested: true)) ?? []).filter { !known.contains($0) }
    }

    /// Where a version's ciphertext lies that the tip does not have, and where files may have been moved of which no commit tells:
    /// those that are gone from where the tip has them, or are other ones there. What came in their place is told by the
    /// content, else by the last part of the name; where nothing tells, it may be each that came. So there may be too many
    /// names, until the commit.
    ///
    /// - Parameters:
    ///   - blob: the version's.
    ///   - names: of the version at the tip; what it does not have is passed over.
    ///   - strays: what `strays(besides:)` told.
    func uncommittedNames(
        holding blob: ObjectID, of names: Set<FilePath>, among strays: [FilePath]
    ) throws(GitError) -> Set<FilePath> {
        var found = try Set(matching(blob, among: strays))
        var edited: [FilePath]?
        for path in names {
            guard let blob = try repository.blobID(at: path, in: tip), try !holds(blob, at: path) else {
                continue
            }
            let isGone = (try? store.root.statusIfPresent(of: path)) == .some(nil)
            if edited == nil {
                edited = try repository.changes().filter { $0.kind == .modified && $0.path.isSecretName }.map(
                    \.path)
            }
            let others = (strays + (edited ?? [])).filter { $0 != path }
            let choices = [
                try matching(blob, among: others),
                others.filter { $0.lastComponent == path.lastComponent },
                // One that is still there was edited, as a rule, and what else was edited is another secret.
                isGone ? others : strays.filter { $0 != path },
            ]
            found.formUnion(choices.first { !$0.isEmpty } ?? [])
        }
        return found
    }

    private func matching(_ blob: ObjectID, among paths: [FilePath]) throws(GitError) -> [FilePath] {
        var found: [FilePath] = []
        for path in paths where try holds(blob, at: path) { found.append(path) }
        return found
    }

    /// Whether a file on disk has the bytes of an object.
    private func holds(_ blob: ObjectID, at path: FilePath) throws(GitError) -> Bool {
        guard let status = try? store.root.statusIfPresent(of: path),
            status.identity.size == (try repository.blobSize(blob)),
            let bytes = try? store.read(path, limit: store.options.ciphertextLimit)
        else { return false }
        return try Repository.blobID(of: bytes) == blob
    }
}
