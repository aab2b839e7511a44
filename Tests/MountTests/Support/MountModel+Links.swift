import Fuse
import SystemPackage

@testable import Fuse
@testable import Mount

/// Symbolic links to names of their own folder.
extension MountModel {
    func makeLink() throws {
        let folder = anyFolder()
        let name = anyName()
        let target = one(of: Self.names)
        // What was renamed away may still be there to lead to.
        guard !folder.parked.contains(target + ".gpg") else { return }
        let node = ModelNode(isFolder: false)
        node.isScratch = Self.scratchNames.contains(name)
        let there = folder.children[target]
        let isToSecret = there.map(isSecretOnDisk) ?? false
        node.leadsToSecret = !node.isScratch && (isToSecret || name.hasSuffix(".gpg"))
        let isTaken =
            folder.children[name] != nil
            || node.leadsToSecret && folder.hasOnDisk(name + ".gpg", exceptFor: name, countsParked: false)
        let isFound = there.map { $0.isFolder || $0.isLink && !$0.isScratch || $0.isOnDisk } ?? false
        node.target = isToSecret || node.leadsToSecret && !isFound ? target + ".gpg" : target
        if node.isScratch { node.target = target }
        let isDone = try compare("symlink \(path(folder, name)) to \(target)", isTaken ? .fileExists : nil) {
            () throws(Errno) in
            mount.forget(
                try filesystem.makeSymbolicLink(
                    in: folder.inode, name: Name(name)!, target: Array(target.utf8),
                    for: mount.caller))
        }
        guard isDone else { return }
        folder.put(node, name)
        if !node.isScratch { folder.parked.remove(name + ".gpg") }
    }

    /// What a link can be stored as one to.
    private func isSecretOnDisk(_ node: ModelNode) -> Bool {
        !node.isFolder && !node.isScratch && (node.isLink ? node.leadsToSecret : node.isOnDisk)
    }

    /// A link that was made before its secret is stored as one to a secret once there is one: asks the mount which are, and
    /// looks that there was cause for it.
    func learnLinks() throws {
        var became: [ModelNode] = []
        for folder in folders {
            for node in folder.children.values where node.isLink && !node.isScratch && !node.leadsToSecret {
                let backing = Array("user.passdir.backing".utf8)
                let path: String
                do throws(Errno) {
                    path = try at(folder, node.name) { inode throws(Errno) in
                        String(
                            decoding: try filesystem.extendedAttribute(inode, name: backing), as: UTF8.self)
                    }
                } catch {
                    throw fail("\(node.path): \(error)")
                }
                guard path.hasSuffix("/" + node.name + ".gpg") else { continue }
                node.leadsToSecret = true
                became.append(node)
            }
        }
        // Not before all are known: one may lead to another.
        for node in became {
            guard let target = node.target, let folder = node.parent else { continue }
            // What was renamed away is still there to lead to.
            guard
                folder.children[target].map(isSecretOnDisk) == true || folder.parked.contains(target + ".gpg")
            else { throw fail("\(node.path) became a link to a secret") }
            node.target = target + ".gpg"
        }
    }

    /// readlink(2).
    func readLink() throws {
        let folder = anyFolder()
        let links = folder.children.values.filter(\.isLink).sorted { $0.name < $1.name }
        guard let node = links.randomElement(using: &random) else { return }
        try same("readlink \(node.path)", node.shownTarget) { () throws(Errno) in
            String(
                decoding: try at(folder, node.name) { inode throws(Errno) in
                    try filesystem.readSymbolicLink(inode)
                }, as: UTF8.self)
        }
    }
}
