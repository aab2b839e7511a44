import Fuse
import Glibc
import Stores
import SystemPackage
import TestKit

@testable import Fuse
@testable import Mount

/// What is made, removed and renamed.
extension MountModel {
    func makeDirectory() throws {
        guard folders.count < 12 else { return try removeDirectory() }
        let folder = anyFolder()
        let name = one(of: Self.names)
        guard folder.depth < 2 else { return }
        let isTaken =
            folder.children[name] != nil || folder.hasOnDisk(name, exceptFor: name, countsParked: true)
        let made = ModelNode(isFolder: true)
        let isDone = try compare("mkdir \(path(folder, name))", isTaken ? .fileExists : nil) {
            () throws(Errno) in
            made.inode = try filesystem.makeDirectory(
                in: folder.inode, name: Name(name)!, permissions: 0o700
            ).inode
        }
        guard isDone else { return }
        folder.put(made, name)
        folder.parked.remove(name + ".gpg")
        folders.append(made)
    }

    func makeNode() throws {
        let folder = anyFolder()
        let name = anyName()
        let isScratch = Self.scratchNames.contains(name)
        let isTaken =
            folder.children[name] != nil
            || !isScratch && folder.hasOnDisk(name + ".gpg", exceptFor: name, countsParked: false)
        let isDone = try compare("mknod \(path(folder, name))", isTaken ? .fileExists : nil) {
            () throws(Errno) in
            mount.forget(
                try filesystem.makeNode(
                    in: folder.inode, name: Name(name)!, permissions: 0o600, for: mount.caller))
        }
        guard isDone else { return }
        let node = ModelNode(isFolder: false)
        node.isScratch = isScratch
        node.edited()
        folder.put(node, name)
        saved(node)
    }

    /// A name that is as long as one can be, or longer: what is made is removed again.
    func makeLongName() throws {
        let folder = anyFolder()
        let length = one(of: [251, 252, 255, 256])
        let name = Name(String(repeating: "n", count: length))!
        let isFolder = below(2) == 0
        let isTooLong = length > 251
        let isMade = try compare(
            "make \(length) bytes in \(folder.path) \(isFolder)", isTooLong ? .fileNameTooLong : nil
        ) { () throws(Errno) in
            // As the kernel does first.
            do throws(Errno) {
                mount.forget(try filesystem.lookup(in: folder.inode, name: name))
            } catch .noSuchFileOrDirectory {}
            mount.forget(
                isFolder
                    ? try filesystem.makeDirectory(in: folder.inode, name: name, permissions: 0o700)
                    : try filesystem.makeNode(
                        in: folder.inode, name: name, permissions: 0o600, for: mount.caller))
        }
        guard isMade else { return }
        try compare("remove it", nil) { () throws(Errno) in
            if isFolder {
                try filesystem.removeDirectory(in: folder.inode, name: name)
            } else {
                try filesystem.unlink(in: folder.inode, name: name, for: mount.caller)
            }
        }
    }

    func unlink(scratchOnly: Bool = false) throws {
        let folder = anyFolder()
        let name = scratchOnly ? one(of: Self.scratchNames) : anyName()
        let node = folder.children[name]
        let expected: Errno? = node.map { $0.isFolder ? .isDirectory : nil } ?? .noSuchFileOrDirectory
        let isDone = try compare("unlink \(path(folder, name))", expected) { () throws(Errno) in
            try filesystem.unlink(in: folder.inode, name: Name(name)!, for: mount.caller)
        }
        if isDone, let node = folder.take(name) { unlinked(node) }
    }

    func removeDirectory() throws {
        let folder = anyFolder()
        let name = one(of: Self.names)
        let node = folder.children[name]
        let expected: Errno? =
            if let node {
                !node.isFolder ? .notDirectory : node.isEmpty ? nil : .directoryNotEmpty
            } else {
                .noSuchFileOrDirectory
            }
        let isDone = try compare("rmdir \(path(folder, name))", expected) { () throws(Errno) in
            try filesystem.removeDirectory(in: folder.inode, name: Name(name)!)
        }
        // What was renamed away from it was given up before.
        if node?.isFolder == true { node.map(giveUpParked) }
        if isDone, let node = folder.take(name) { unlinked(node) }
    }

    private func giveUpParked(_ folder: ModelNode) {
        for each in folders where each.isBelow(folder) { each.parked = [] }
    }

    func rename(scratchOnly: Bool = false) throws {
        let (from, to) = (anyFolder(), anyFolder())
        let oldName = scratchOnly ? one(of: Self.scratchNames) : anyName()
        let newName = scratchOnly ? one(of: Self.scratchNames) : anyName()
        let keeps = below(4) == 0
        let node = from.children[oldName]
        let replaced = to.children[newName]
        // What the kernel sees to by itself.
        if from === to, oldName == newName { return }
        if let node, node.isFolder {
            if to.isBelow(node) || Self.scratchNames.contains(newName) { return }
            if to.depth >= 2 { return }
        }
        if let replaced, from.isBelow(replaced) { return }
        let toScratch =
            node?.isFolder == false && (replaced?.isScratch ?? Self.scratchNames.contains(newName))
        let expected = refusalOfRename(node, from, to, newName, keeps: keeps, toScratch: toScratch)
        let what = "rename \(path(from, oldName)) \(path(to, newName)) \(keeps)"
        let isDone = try compare(what, expected) { () throws(Errno) in
            try filesystem.rename(
                from: from.inode, Name(oldName)!, to: to.inode, Name(newName)!,
                flags: keeps ? .noReplace : [],
                for: Caller(processID: getpid()))
        }
        guard isDone, let node = from.children[oldName] else { return }
        let oldDiskName = node.diskName
        _ = from.take(oldName)
        if let replaced { unlinked(replaced) }
        if node.isFolder { giveUpParked(node) }
        to.put(node, newName)
        if node.isFolder {
            to.parked.remove(newName + ".gpg")
            return
        }
        if toScratch {
            if !node.isScratch, node.isOnDisk { from.parked.insert(oldDiskName) }
            node.isScratch = true
            node.isOnDisk = false
            node.isEdited = false
        } else {
            to.parked.remove(node.name + ".gpg")
            if node.isLink { return }
            let wasInMemory = node.isScratch || node.isEdited
            node.isScratch = false
            // What is in memory is saved by its rename; only what is empty and open may wait for its close.
            if wasInMemory { try learnState(of: node) }
        }
    }

    /// What a rename fails with.
    private func refusalOfRename(
        _ node: ModelNode?, _ from: ModelNode, _ to: ModelNode, _ newName: String, keeps: Bool,
        toScratch: Bool
    ) -> Errno? {
        guard from.top === to.top else { return .improperLink }
        guard let node else { return .noSuchFileOrDirectory }
        let replaced = to.children[newName]
        if let replaced {
            if keeps { return .fileExists }
            if node.isFolder != replaced.isFolder { return node.isFolder ? .notDirectory : .isDirectory }
        }
        // Where it would lie on disk, something that is shown by another name may be.
        let hasSuffix = !node.isFolder && (!node.isLink || node.leadsToSecret)
        let diskName = hasSuffix ? newName + ".gpg" : newName
        if !toScratch, replaced?.diskName != diskName,
            to.hasOnDisk(
                diskName, exceptFor: newName, countsParked: node.isFolder, countsUnsaved: !node.isLink)
        {
            return .fileExists
        }
        if replaced?.isEmpty == false { return .directoryNotEmpty }
        if node.isLink {
            if node.isScratch != toScratch { return node.isScratch ? .improperLink : .notPermitted }
            if !node.isScratch, !node.leadsToSecret, newName.hasSuffix(".gpg") { return .improperLink }
        }
        return keepsReaders(node, in: to) ? nil : .improperLink
    }

    /// Whether all in a folder is for the same readers elsewhere; a file is re-encrypted.
    private func keepsReaders(_ node: ModelNode, in folder: ModelNode) -> Bool {
        !node.isFolder || node.readers != nil || node.effectiveReaders == folder.effectiveReaders
    }

    /// Whether a rename has saved what was in memory only, as the mount tells.
    private func learnState(of node: ModelNode) throws {
        guard let folder = node.parent else { return }
        var state = ""
        try compare("getxattr \(node.path)", nil) { () throws(Errno) in
            state = try at(folder, node.name) { inode throws(Errno) in
                String(
                    decoding: try filesystem.extendedAttribute(inode, name: Array("user.passdir.state".utf8)),
                    as: UTF8.self)
            }
        }
        guard state == "saved" || state == "unsaved" && node.bytes.isEmpty && node.handles > 0 else {
            throw fail("\(node.path) is \(state) after its rename")
        }
        node.isEdited = state != "saved"
        node.isOnDisk = !node.isEdited
    }

    func exchange() throws {
        let (from, to) = (anyFolder(), anyFolder())
        let (oldName, newName) = (anyName(), anyName())
        let (first, second) = (from.children[oldName], to.children[newName])
        if let first, to.isBelow(first) { return }
        if let second, from.isBelow(second) { return }
        if first != nil, first === second { return }
        let expected: Errno? =
            if from.top !== to.top {
                .improperLink
            } else if let first, let second {
                first.isFolder != second.isFolder || first.isLink || second.isLink
                    || !first.isScratch && !second.isScratch
                        && from.effectiveReaders != to.effectiveReaders
                    ? .invalidArgument : nil
            } else {
                .noSuchFileOrDirectory
            }
        let isDone = try compare("exchange \(path(from, oldName)) \(path(to, newName))", expected) {
            () throws(Errno) in
            try filesystem.rename(
                from: from.inode, Name(oldName)!, to: to.inode, Name(newName)!, flags: .exchange,
                for: Caller(processID: getpid()))
        }
        guard isDone, let first, let second else { return }
        _ = from.take(oldName)
        _ = to.take(newName)
        from.put(second, oldName)
        to.put(first, newName)
        guard first.isScratch == second.isScratch else {
            // The scratch file is encrypted, the secret goes on in memory.
            for node in [first, second] {
                node.isScratch.toggle()
                node.isEdited = false
                node.isOnDisk = !node.isScratch
            }
            return
        }
        // Both were saved before.
        for node in [first, second] where !node.isScratch { node.isFolder ? giveUpParked(node) : saved(node) }
    }
}
