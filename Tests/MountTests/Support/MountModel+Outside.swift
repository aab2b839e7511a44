import Fuse
import Glibc
import Stores
import SystemPackage
import TestKit

@testable import Fuse
@testable import Mount

/// What happens around the mount.
extension MountModel {
    /// A secret that lies on disk as it is, which nobody has open.
    private func isAtRest(_ node: ModelNode) -> Bool {
        !node.isFolder && !node.isLink && node.isOnDisk && !node.isEdited && node.handles == 0
    }

    /// What `git pull` and others do behind the mount's back: a file goes, or gets another name or another content.
    func changeOutside() throws {
        let folder = anyFolder()
        let closed = folder.children.filter { isAtRest($0.value) }
        guard let (name, node) = closed.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
            return
        }
        let place = mount.disk(path(folder, node.diskName)).string
        if below(3) == 0 {
            // As git does: a new file takes its place.
            let others = folders.flatMap { $0.children.values }.filter { isAtRest($0) && $0 !== node }
            guard let other = others.sorted(by: { $0.path < $1.path }).randomElement(using: &random),
                let parent = other.parent
            else { return }
            let new = mount.folder.appending("new").string
            try mount.keys.home.succeed(["cp", mount.disk(path(parent, other.diskName)).string, new])
            guard Glibc.rename(new, place) == 0 else { throw fail("cannot replace \(place)") }
            node.bytes = other.bytes
            node.modified = nil
            return
        }
        // Its number may be another's then.
        for (inode, known) in held where known === node { filesystem.forget(inode, count: 1) }
        held.removeAll { $0.node === node }
        _ = folder.take(name)
        let newName = one(of: Self.names)
        let isFree =
            folder.children[newName] == nil
            && !folder.hasOnDisk(newName + ".gpg", exceptFor: name, countsParked: true)
        if isFree, below(2) == 0 {
            let new = mount.disk(path(folder, newName + ".gpg")).string
            guard Glibc.rename(place, new) == 0 else { throw fail("cannot rename \(place)") }
            let moved = ModelNode(isFolder: false)
            moved.bytes = node.bytes
            moved.isOnDisk = true
            moved.modified = node.modified
            folder.put(moved, newName)
        } else {
            guard Glibc.unlink(place) == 0 else { throw fail("cannot remove \(place)") }
        }
    }

    /// Takes the store out of the mount, and shows it again: what is open goes on, what is edited is saved.
    func hide() throws {
        let index = below(stores.count)
        let (store, top) = (stores[index], tops[index])
        filesystem.remove(store)
        filesystem.saveEverything(of: store)
        try compare("lookup of a hidden store", .noSuchFileOrDirectory) { () throws(Errno) in
            _ = try filesystem.lookup(in: .root, name: Name(store.name)!)
        }
        for folder in folders where folder.top === top { for node in folder.children.values { saved(node) } }
        mount.forget(Entry(inode: top.inode, attributes: try mount.attributes("")))
        try compare("the store is shown again", nil) { () throws(Errno) in
            try filesystem.restore(store, isReadOnly: false)
            top.inode = try mount.look(store.name).inode
        }
    }
}
