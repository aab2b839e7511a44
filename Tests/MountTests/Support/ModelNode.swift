import Fuse
import System

/// A thing of the model: what it holds, and where it is.
final class ModelNode {
    let isFolder: Bool
    var children: [String: ModelNode] = [:]
    /// Names on disk that are taken by ciphertexts which editors renamed away: nothing is shown of them.
    var parked: Set<String> = []
    var bytes: [UInt8] = []
    /// Of a symbolic link: its target on disk, and whether it is stored as one to a secret.
    var target: String?
    var leadsToSecret = false
    /// Lives in memory only.
    var isScratch = false
    /// Whether a save has put it on disk.
    var isOnDisk = false
    /// Whether what it holds is newer than the disk.
    var isEdited = false
    /// How many handles it has.
    var handles = 0
    /// What its mtime was set to, while it has that; else nil.
    var modified: FileTime?
    /// Of a folder: who reads what is in it by a list of its own.
    var readers: String?
    /// Whether it is the folder of a store.
    var isTop = false
    /// nil once it is unlinked.
    weak var parent: ModelNode?
    var name = ""
    /// Of a folder: its number, of which the run holds one lookup.
    var inode = InodeNumber.root

    init(isFolder: Bool) { self.isFolder = isFolder }

    /// What it is called on disk.
    var diskName: String { isFolder || isScratch || isLink && !leadsToSecret ? name : name + ".gpg" }

    var isLink: Bool { target != nil }

    /// Where a link leads, as the mount shows it: a folder keeps its name.
    var shownTarget: String {
        guard let target, leadsToSecret, target.hasSuffix(".gpg") else { return target ?? "" }
        return parent?.children[target]?.isFolder == true ? target : String(target.dropLast(4))
    }

    /// The path in the mount.
    var path: String { parent.map { $0.path + "/" + name } ?? name }

    /// The folder of its store, or what it was unlinked with.
    var top: ModelNode { parent?.top ?? self }

    /// Who reads what is in it.
    var effectiveReaders: String? { readers ?? parent?.effectiveReaders }

    /// How many folders it is below that of its store.
    var depth: Int { parent.map { $0.depth + 1 } ?? 0 }

    /// Whether a folder may be removed: its list counts.
    var isEmpty: Bool { children.isEmpty && readers == nil }

    func isBelow(_ other: ModelNode) -> Bool {
        var node: ModelNode? = self
        while let at = node {
            if at === other { return true }
            node = at.parent
        }
        return false
    }

    /// Its content has changed in memory, at a time that nobody set.
    func edited() {
        isEdited = true
        modified = nil
    }

    /// Whether another thing that is shown by another name has a name on disk, or will have it when it is saved.
    func hasOnDisk(
        _ diskName: String, exceptFor name: String, countsParked: Bool, countsUnsaved: Bool = true
    ) -> Bool {
        if countsParked, parked.contains(diskName) { return true }
        return children.values.contains { child in
            !child.isScratch && child.name != name && child.diskName == diskName
                && (countsUnsaved || child.isFolder || child.isLink || child.isOnDisk)
        }
    }

    func put(_ node: ModelNode, _ name: String) {
        children[name]?.parent = nil
        children[name] = node
        node.parent = self
        node.name = name
    }

    func take(_ name: String) -> ModelNode? {
        let node = children.removeValue(forKey: name)
        node?.parent = nil
        return node
    }
}

/// Numbers that depend on a seed alone: splitmix64.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
