import Fuse
import Stores
import Synchronization
import SystemPackage

extension MountedStore {
    /// Gives up the texts that could not be saved; see `StoreFilesystem.discardUnsaved`.
    func discardUnsaved(_ path: String?) -> [String] {
        var discarded: [String] = []
        for node in failedNodes {
            guard let place = tree.visiblePath(of: node) ?? tree.formerPath(of: node),
                path == nil || path == place.string, let file = beginHandle(node, isOwn: true)
            else { continue }
            let parent = tree.parent(of: node)
            switch discard(node, file, evenIfOpen: path == nil) {
            case .isOpen: break
            case .isOnDisk: discarded.append(place.string)
            case .isGone:
                discarded.append(place.string)
                guard let parent, let name = place.lastComponent.flatMap({ Name($0.string) }) else { break }
                mount.kernel.withLock { $0 }?.deleteEntry(
                    parent: parent.inode, child: node.inode, name: name)
            }
            unmarkIfSaved(node, file)
            endHandle(node, file, isOwn: true)
        }
        return discarded
    }

    private enum Discarded { case isOpen, isOnDisk, isGone }

    private func discard(_ node: Node, _ file: SecretFile, evenIfOpen: Bool) -> Discarded {
        file.saving.withLock { _ in
            namespace.withLock { _ in
                let path = tree.backingPath(of: node)
                let isOnDisk = path.map { self.isOnDisk($0) } ?? false
                let isDone = file.state.withLock { state in
                    guard evenIfOpen || !state.isOpenInProgram else { return false }
                    state.abandonEdits()
                    // Whoever has it open, or opens it, reads on in what lies on disk.
                    if isOnDisk { state.drop() }
                    return true
                }
                guard isDone else { return .isOpen }
                if let path { parked.remove(path) }
                guard !isOnDisk else { return .isOnDisk }
                if let path { kept.remove(path) }
                tree.detach(node)
                return .isGone
            }
        }
    }

    /// Also where that cannot be told: nothing is taken for gone that may be there.
    private func isOnDisk(_ path: FilePath) -> Bool {
        do {
            return try root.statusIfPresent(of: path) != nil
        } catch {
            return true
        }
    }
}
