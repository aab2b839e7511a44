import Git
import Stores
import System
import SystemPackage

/// The secrets, lists and links of a working tree that no other machine would take, by their names or the length of their
/// paths. git and libgit2 pass over most of them without a word. Reads lists of folders only.
struct RefusedFiles {
    /// Relative to the top; why, in words that follow the path.
    private(set) var all: [FilePath: String] = [:]
    private let root: Root

    init?(top: FilePath) {
        guard let root = try? Root(path: top) else { return nil }
        self.root = root
        look(into: FilePath(), nil)
    }

    /// - Parameter reason: what is wrong with the folder itself.
    private mutating func look(into folder: FilePath, _ reason: String?) {
        guard let entries = try? root.entries(of: folder) else { return }
        // The files of a repository inside are that one's.
        if !folder.isEmpty, entries.contains(where: { $0.name == ".git" }) { return }
        for entry in entries where entry.name != ".git" {
            let name = entry.name.string
            guard !name.hasPrefix(Store.temporaryPrefix) else { continue }
            let isTree = entry.kind == .directory
            let isLink = entry.kind == .symbolicLink
            guard isTree || isLink || name.hasSuffix(".gpg") || entry.name == Store.recipientFileName else {
                continue
            }
            let path = folder.appending(entry.name)
            let objection = reason ?? Repository.objection(toEntry: path, isLink: isLink, isTree: isTree)
            if isTree, PathBounds.objection(to: path) == nil {
                look(into: path, objection)
            } else if let objection {
                all[path] = objection
            }
        }
    }
}
