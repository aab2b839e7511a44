import Fuse
import Glibc
import System
import SystemPackage

@testable import Fuse
@testable import Mount

/// What can be set or asked of a file besides its content.
extension MountModel {
    func attribute() throws {
        guard let handle = anyHandle(), handle.node.parent != nil else { return }
        let node = handle.node
        try same("state of \(node.path)", node.isScratch ? "scratch" : node.isEdited ? "unsaved" : "saved") {
            () throws(Errno) in
            String(
                decoding: try filesystem.extendedAttribute(
                    handle.file.inode, name: Array("user.passdir.state".utf8)), as: UTF8.self)
        }
    }

    /// utimensat(2), chmod(2) or chown(2).
    func touch() throws {
        let folder = anyFolder()
        let name = anyName()
        let node = folder.children[name]
        var changes = AttributeChanges()
        var refusal: Errno?
        switch below(4) {
        case 0:
            changes.permissions = one(of: [0o600, 0o777, 0o4755])
            refusal = changes.permissions == 0o4755 ? .notPermitted : nil
        case 1:
            changes.userID = one(of: [geteuid(), geteuid() &+ 1])
            refusal = changes.userID == geteuid() ? nil : .notPermitted
        default:
            let nanoseconds = below(1_000_000_000)
            changes.modificationTime = .at(
                FileTime(seconds: Int64(below(2_000_000_000)), nanoseconds: Int64(nanoseconds)))
        }
        let isDone = try compare(
            "setattr \(path(folder, name))", node == nil ? .noSuchFileOrDirectory : refusal
        ) { () throws(Errno) in
            try at(folder, name) { inode throws(Errno) in
                _ = try filesystem.setAttributes(of: inode, handle: nil, changes, for: mount.caller)
            }
        }
        guard isDone, let node, case .at(let time) = changes.modificationTime else { return }
        // That of a folder changes with what is in it, a link in memory has none, and one that is to become a link to a
        // secret is made anew then.
        if !node.isFolder, !node.isLink || node.leadsToSecret { node.modified = time }
    }
}
