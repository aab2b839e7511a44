import Git
import System
public import SystemPackage

extension Store {
    /// Whether a path of the store, as it is on disk, is longer or deeper than any machine takes it from a branch.
    public static func isTooLong(_ path: FilePath) -> Bool { PathBounds.objection(to: path) != nil }

    /// Whether no machine takes something of this name on disk from a branch: it is git's or passdir's own, or that of a
    /// file that must be none of this kind.
    public static func isRefused(_ name: FilePath.Component, of kind: EntryKind) -> Bool {
        Repository.objection(toName: name, isLink: kind == .symbolicLink, isTree: kind == .directory) != nil
    }
}

extension Root {
    /// Whether something below a folder would be too long under another name of it: as `Store.isTooLong`. Looks at all
    /// that is below.
    public func isTooLong(below folder: FilePath, as other: FilePath) throws(Errno) -> Bool {
        for entry in try entries(of: folder) {
            let path = other.appending(entry.name)
            let isFolder = entry.kind == .directory
            if Store.isTooLong(isFolder ? path.appending("s") : path) { return true }
            guard isFolder else { continue }
            if try isTooLong(below: folder.appending(entry.name), as: path) { return true }
        }
        return false
    }
}
