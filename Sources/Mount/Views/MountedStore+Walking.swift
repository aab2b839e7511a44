import Fuse
import Stores
import System
import SystemPackage

/// How what is made of secrets finds them.
extension MountedStore {
    /// Finds what lies at a path below the store's topmost node, as the mount shows it, as far as that leads: to the first thing
    /// that is no folder. A lookup of it is counted, which the caller gives back.
    /// - Returns: it, and the names behind it.
    func walk(_ names: [Name], from top: Node) throws(Errno) -> (node: Node, rest: [Name]) {
        guard tree.countLookup(of: top) else { throw .noSuchFileOrDirectory }
        var node = top
        for (index, name) in names.enumerated() {
            guard node.kind == .directory else { return (node, Array(names[index...])) }
            let folder = node
            defer { tree.forget(folder.inode, count: 1) }
            node = try tree.node(lookup(name, in: folder).inode)
        }
        return (node, [])
    }

    /// What a name in a folder is on disk; nil where it is nothing that is shown. Decrypts nothing.
    func kind(of name: Name, in folder: Node) -> BackingEntry.Kind? {
        let found = try? inNamespace(of: folder) { place throws(Errno) in try resolve(name, in: place.path) }
        return found.flatMap { $0 }?.kind
    }
}
