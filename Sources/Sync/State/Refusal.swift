import SystemPackage

/// Why a file of a store is saved and not committed.
enum Refusal: Sendable, Hashable {
    /// No other machine would take its path; why, in words that follow the path.
    case path(String)
    /// It lies in the folder of a submodule that is not checked out. A commit that had it would have to take the submodule
    /// out of the branch.
    /// - Parameters:
    ///   - folder: the submodule's, relative to the top of the repository that it is a submodule of.
    ///   - top: absolute.
    case submodule(folder: FilePath, top: FilePath)
}
