import Git
import Stores
import SystemPackage

extension StoreHistory {
    /// Where files may have been moved of which no commit tells yet: those that are gone from where the tip has them, or are other
    /// ones there. What came in their place is told by the content, else by the last part of the name; where nothing tells, it
    /// may be each that came. So there may be too many names, until the commit.
    ///
    /// - Parameter names: at the tip; what it does not have is passed over.
    func uncommittedNames(of names: Set<FilePath>) throws(GitError) -> Set<FilePath> {
        var moved: [(path: FilePath, blob: ObjectID, isGone: Bool)] = []
        for path in names {
            guard let blob = try repository.blobID(at: path, in: tip) else { continue }
            let now = contentNow(of: path)
            if let now, now == blob { continue }
            moved.append((path, blob, now == nil))
        }
        guard !moved.isEmpty else { return [] }
        let changed = try repository.changes(includingIgnored: true).filter {
            $0.kind != .deleted && $0.path.isSecretName
        }
        let contents = Dictionary(
            changed.map { ($0.path, contentNow(of: $0.path)) }, uniquingKeysWith: { first, _ in first })
        return moved.reduce(into: []) { found, file in
            let others = changed.filter { $0.path != file.path }
            let choices = [
                others.filter { contents[$0.path] == file.blob },
                others.filter { $0.path.lastComponent == file.path.lastComponent },
                // One that is still there was edited, as a rule, and what else was edited is another secret.
                others.filter { file.isGone || $0.kind != .modified },
            ]
            found.formUnion(choices.first { !$0.isEmpty }?.map(\.path) ?? [])
        }
    }

    /// What lies at a path on disk; nil where nothing does that can be read.
    private func contentNow(of path: FilePath) -> ObjectID? {
        guard let bytes = try? store.read(path, limit: store.options.ciphertextLimit) else { return nil }
        return try? Repository.blobID(of: bytes)
    }
}
