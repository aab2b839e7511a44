import CGit
public import SystemPackage

extension Repository {
    /// The folder that holds references and objects: the git folder itself, but the main repository's for a linked
    /// worktree.
    public var commonDirectory: FilePath {
        FilePath(platformString: git_repository_commondir(pointer))
    }
}
