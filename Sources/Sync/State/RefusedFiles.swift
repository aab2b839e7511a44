import Git
import Stores
import System
import SystemPackage

/// The secrets, lists and links of a working tree that no other machine would take, by their names or the length of their
/// paths, and those in the folders of submodules that are not checked out. git and libgit2 pass over most of them without a
/// word. Reads lists of folders only.
struct RefusedFiles {
    /// Relative to the top.
    private(set) var all: [FilePath: Refusal] = [:]
    private let root: Root
    private let submodules: Set<FilePath>

    /// - Parameter submodules: their folders, relative to the top.
    init?(top: FilePath, submodules: Set<FilePath>) {
        guard let root = try? Root(path: top) else { return nil }
        (self.root, self.submodules) = (root, submodules)
        look(into: FilePath(), nil)
    }

    /// - Parameter reason: what is wrong with the folder itself.
    private mutating func look(into folder: FilePath, _ reason: Refusal?) {
        guard let entries = try? root.entries(of: folder) else { return }
        // The files of a repository inside are that one's.
        if !folder.isEmpty, entries.contains(where: { $0.name == ".git" }) { return }
        let isSubmodule = reason == nil && submodules.contains(folder)
        let reason = isSubmodule ? .submodule(folder: folder, top: root.path) : reason
        for entry in entries {
            guard !VisibleName.isHidden(entry.name) else { continue }
            let isTree = entry.kind == .directory
            let isLink = entry.kind == .symbolicLink
            let path = folder.appending(entry.name)
            guard isTree || isLink || path.isCommitted else { continue }
            let objection =
                reason
                ?? Repository.objection(toEntry: path, isLink: isLink, isTree: isTree).map(Refusal.path)
            if isTree, PathBounds.objection(to: path) == nil {
                look(into: path, objection)
            } else if let objection {
                all[path] = objection
            }
        }
    }
}
