import Fuse

/// A thing of the model: what it holds, and where it is.
final class ModelNode {
    let isFolder: Bool
    var children: [String: ModelNode] = [:]
    /// Names on disk that are taken by ciphertexts which editors renamed away: nothing is shown of them.
    var parked: Set<String> = []
    var bytes: [UInt8] = []
    /// Lives in memory only.
    var isScratch = false
    /// Whether a save has put it on disk.
    var isOnDisk = false
    /// Whether what it holds is newer than the disk.
    var isEdited = false
    /// How many handles it has.
    var handles = 0
    /// nil once it is unlinked.
    weak var parent: ModelNode?
    var name = ""
    /// Of a folder: its number, of which the run holds one lookup.
    var inode = InodeNumber.root

    init(isFolder: Bool) { self.isFolder = isFolder }

    /// What it is called on disk.
    var diskName: String { isFolder || isScratch ? name : name + ".gpg" }

    /// The path in its store.
    var path: String {
        guard let parent, parent.parent != nil || !parent.name.isEmpty else { return name }
        return parent.path + "/" + name
    }

    func isBelow(_ other: ModelNode) -> Bool {
        var node: ModelNode? = self
        while let at = node {
            if at === other { return true }
            node = at.parent
        }
        return false
    }

    /// Whether another thing that is shown by another name has a name on disk.
    func hasOnDisk(_ diskName: String, exceptFor name: String, countsParked: Bool) -> Bool {
        if countsParked, parked.contains(diskName) { return true }
        return children.values.contains { !$0.isScratch && $0.name != name && $0.diskName == diskName }
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
