import CGit
public import SystemPackage

/// The folders that belong to the submodules of a commit: what lies in one is in that submodule, never in the commit.
public struct SubmoduleFolders {
    private let repository: Repository
    private let commit: ObjectID?
    /// What was looked up: a folder, and the submodule that it is, or lies in.
    private var known: [FilePath: FilePath?] = [FilePath(): .none]

    /// - Parameter commit: nil has no submodules.
    public init(_ repository: Repository, of commit: ObjectID?) {
        (self.repository, self.commit) = (repository, commit)
    }

    /// The submodule that a path lies in; nil when there is none. A submodule lies in no other one of the same commit, nor
    /// in itself.
    public mutating func folder(around path: FilePath) throws(GitError) -> FilePath? {
        guard let commit else { return nil }
        var unknown: [FilePath] = []
        var folder = path.removingLastComponent()
        while known[folder] == nil {
            unknown.append(folder)
            folder.removeLastComponent()
        }
        var found = known[folder] ?? nil
        for folder in unknown.reversed() {
            if found == nil, try repository.item(at: folder, in: commit)?.kind == .submodule {
                found = folder
            }
            known[folder] = .some(found)
        }
        return found
    }
}

extension Repository {
    /// The submodules that the index holds.
    public func stagedSubmodules() throws(GitError) -> Set<FilePath> {
        Set(try stagedEntries().filter(\.isSubmodule).map(\.path))
    }
}
