import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A secret whose save failed; its content is still in memory.
public struct UnsavedSecret: Sendable, Equatable {
    /// The name of its store.
    public var store: String
    /// Its path in the store as the mount shows it.
    public var path: String
    /// Why the save failed: one sentence.
    public var message: String
    /// When it failed first.
    public var since: FileTime
}

extension MountedStore {
    /// Notes that a content is newer than the disk, so that the node stays although the kernel may forget it.
    func markDirty(_ node: Node) {
        guard node.secret?.state.withLock({ $0.isDirty }) == true else { return }
        // Before it is in the list: a save that ends right then takes both away again.
        tree.pin(node)
        _ = node.beginUse(mount.scratchMemory)
        let isNew = dirty.withLock { dirty in
            dirty.updateValue(node, forKey: node.inode) == nil
        }
        guard !isNew else { return }
        tree.unpin(node)
        node.endUse()
    }

    /// Notes that nothing of a node is waiting to be saved, if that is so.
    func unmarkIfSaved(_ node: Node, _ file: SecretFile) {
        let isSaved = file.state.withLock { !$0.isDirty }
        guard isSaved else { return }
        let wasDirty = dirty.withLock { $0.removeValue(forKey: node.inode) != nil }
        // An edit between the two looks has found the node still marked.
        markDirty(node)
        guard wasDirty else { return }
        tree.unpin(node)
        node.endUse()
    }

    /// What is newer than the disk.
    var dirtyNodes: [Node] { dirty.withLock { Array($0.values) } }

    /// What could not be saved.
    var failedNodes: [Node] {
        dirtyNodes.filter { node in node.secret?.state.withLock { $0.failure != nil } == true }
    }

    /// The secrets whose save failed.
    var unsaved: [UnsavedSecret] { dirtyNodes.compactMap(unsaved) }

    /// Why and since when a secret is not saved; nil where no save of it failed.
    func unsaved(_ node: Node) -> UnsavedSecret? {
        guard let path = tree.visiblePath(of: node) ?? tree.formerPath(of: node),
            let failure = node.secret?.state.withLock({ $0.failure })
        else { return nil }
        return UnsavedSecret(
            store: store.name, path: path.string, message: failure.message, since: failure.since)
    }

    /// Secrets that a program is writing: what it wrote is not saved before it closes or syncs the file.
    var beingWritten: [String] {
        dirtyNodes.compactMap { node in
            guard let file = node.secret, file.state.withLock({ $0.isDirty && $0.failure == nil }),
                !isUnusedProbe(node, file)
            else { return nil }
            return (tree.visiblePath(of: node) ?? tree.formerPath(of: node))?.string
        }
    }

    /// Saves everything that is newer than the disk; what fails stays listed in `unsaved`.
    @discardableResult
    func saveEverything() -> Int { saveAll(dirtyNodes) }

    /// Tries to save each; returns how many are saved.
    func saveAll(_ nodes: [Node]) -> Int {
        var count = 0
        for node in nodes {
            guard let file = beginHandle(node, isOwn: true) else { continue }
            if !isUnusedProbe(node, file), (try? save(node, file)) != nil { count += 1 }
            // Where nobody has it open, the plaintext is forgotten as after a close.
            endHandle(node, file, isOwn: true)
        }
        return count
    }
}
