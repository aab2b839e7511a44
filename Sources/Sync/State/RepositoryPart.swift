import Git
import SystemPackage

/// A repository of a store, opened, and what of a batch of changes is committed to it.
struct RepositoryPart {
    let repository: Repository
    /// The top of its working tree.
    let top: FilePath
    /// The repository's top below the store's folder; empty where they are the same.
    let nested: FilePath
    /// Relative to the top.
    var paths: [FilePath] = []

    /// How pass names a path of the repository: relative to the store.
    func inStore(_ path: FilePath) -> FilePath {
        nested.isEmpty ? path : nested.pushing(path)
    }
}
