import Fuse
import Stores
import Synchronization
import SystemPackage

extension StoreFilesystem {
    /// Gives up the texts of a store that could not be saved: each file is again what lies on disk, or is gone where nothing
    /// does.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    /// - Parameter path: of one of them, as the mount shows it; nil gives up all.
    /// - Returns: those that were given up, as the mount shows them. One that a program has open is not among them, unless all
    ///   are given up.
    public func discardUnsaved(ofStore name: String, _ path: String?) -> [String] {
        let failed = dirty.withLock { Array($0.values) }.filter { node in
            node.store?.store.name == name
                && node.secret?.state.withLock { $0.failure != nil } == true
        }
        var discarded: [String] = []
        for node in failed {
            guard let place = tree.visiblePath(of: node), path == nil || path == place.string,
                let parent = tree.parent(of: node), let file = beginHandle(node)
            else { continue }
            switch discard(node, file, evenIfOpen: path == nil) {
            case .isOpen: break
            case .isOnDisk: discarded.append(place.string)
            case .isGone:
                discarded.append(place.string)
                guard let name = place.lastComponent.flatMap({ Name($0.string) }) else { break }
                notifier.withLock { $0 }?.deleteEntry(parent: parent.inode, child: node.inode, name: name)
            }
            unmarkIfSaved(node, file)
            endHandle(node, file)
        }
        return discarded.sorted()
    }

    private enum Discarded { case isOpen, isOnDisk, isGone }

    private func discard(_ node: Node, _ file: SecretFile, evenIfOpen: Bool) -> Discarded {
        guard let store = node.store else { return .isOpen }
        return file.saving.withLock { _ in
            store.namespace.withLock { _ in
                let path = tree.backingPath(of: node)
                let isOnDisk = path.map { self.isOnDisk($0, store.store.root) } ?? false
                let isDone = file.state.withLock { state in
                    guard evenIfOpen || state.handles == 1 else { return false }
                    state.abandonEdits()
                    // Whoever has it open reads on in what lies on disk.
                    if isOnDisk, state.handles > 1 { state.drop() }
                    return true
                }
                guard isDone else { return .isOpen }
                if let path { store.parked.remove(path) }
                guard !isOnDisk else { return .isOnDisk }
                if let path { store.kept.remove(path) }
                tree.detach(node)
                return .isGone
            }
        }
    }

    /// Also where that cannot be told: nothing is taken for gone that may be there.
    private func isOnDisk(_ path: FilePath, _ root: Root) -> Bool {
        do {
            return try root.statusIfPresent(of: path) != nil
        } catch {
            return true
        }
    }
}
