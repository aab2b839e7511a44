import Fuse
import System
import SystemPackage

@testable import Fuse
@testable import Mount

/// What is there, as look-ups, listings and attributes tell it.
extension MountModel {
    struct Facts: Equatable {
        var isFolder: Bool
        var size: Int64
        var links: UInt64
        var permissions: UInt16
        /// Where it is known.
        var modified: FileTime?
    }

    private func facts(_ attributes: Attributes, of node: ModelNode) -> Facts {
        let isFolder = attributes.kind == .directory
        return Facts(
            isFolder: isFolder, size: isFolder ? 0 : attributes.size,
            links: isFolder ? 1 : attributes.linkCount, permissions: attributes.permissions,
            modified: node.modified == nil ? nil : attributes.modificationTime)
    }

    private func facts(_ node: ModelNode) -> Facts {
        Facts(
            isFolder: node.isFolder,
            size: Int64(node.isLink ? node.shownTarget.utf8.count : node.bytes.count),
            links: node.parent == nil && !node.isTop ? 0 : 1,
            permissions: node.isFolder ? 0o700 : node.isLink ? 0o777 : 0o600,
            modified: node.modified)
    }

    func look() throws {
        let folder = anyFolder()
        let name = anyName()
        let node = folder.children[name]
        var found: Attributes?
        try compare("lookup \(path(folder, name))", node == nil ? .noSuchFileOrDirectory : nil) {
            () throws(Errno) in
            let entry = try filesystem.lookup(in: folder.inode, name: Name(name)!)
            found = entry.attributes
            mount.forget(entry)
        }
        guard let node, let found else { return }
        try same("lookup \(path(folder, name))", facts(node)) { facts(found, of: node) }
    }

    /// stat(2) or fstat(2) of what the kernel has a number of.
    func stat() throws {
        if below(3) == 0 { return try statHeld() }
        guard let handle = anyHandle() else { return try statHeld() }
        try same("fstat \(handle.node.path)", facts(handle.node)) { () throws(Errno) in
            facts(try handle.file.attributes, of: handle.node)
        }
    }

    /// What was looked up goes on being the same thing, whatever it is called now; what is gone is stale.
    private func statHeld() throws {
        guard !held.isEmpty else { return try look() }
        let (inode, node) = one(of: held)
        let isThere = node.parent != nil || node.isTop || node.handles > 0 || node.isLink && node.isScratch
        var found: Attributes?
        try compare("stat \(node.name), looked up before", isThere ? nil : .staleNFSFileHandle) {
            () throws(Errno) in found = try filesystem.attributes(of: inode, handle: nil).0
        }
        if let found {
            try same("stat \(node.name), looked up before", facts(node)) { facts(found, of: node) }
        }
    }

    /// Looks something up and keeps its number, or gives one back.
    func hold() throws {
        if held.count > 30 || (!held.isEmpty && below(2) == 0) {
            filesystem.forget(held.remove(at: below(held.count)).inode, count: 1)
            return
        }
        let folder = anyFolder()
        guard let (name, node) = folder.children.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
        else { return }
        try compare("hold \(path(folder, name))", nil) { () throws(Errno) in
            held.append((try filesystem.lookup(in: folder.inode, name: Name(name)!).inode, node))
        }
    }
}
