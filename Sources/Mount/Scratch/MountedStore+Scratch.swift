import Dispatch
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

extension MountedStore {
    /// A scratch file stays until it is removed: the kernel may forget it and nobody may have it open.
    func keepScratch(_ node: Node) {
        tree.pin(node)
        _ = node.beginUse(mount.scratchMemory)
    }

    /// A scratch file has lost its name, or it is none any more.
    func endScratch(_ node: Node) {
        tree.unpin(node)
        node.endUse()
    }

    /// Takes away a scratch file or link.
    func dropScratch(_ node: Node) {
        tree.detach(node)
        if case .memoryLink = node.kind { tree.unpin(node) } else { endScratch(node) }
    }

    /// Whether a file was only made to see whether one can be made.
    func isUnusedProbe(_ node: Node, _ file: SecretFile) -> Bool {
        guard let name = tree.visiblePath(of: node)?.lastComponent, ScratchNames.probes.contains(name.string)
        else {
            return false
        }
        return file.state.withLock { $0.isOnlyTruncated && $0.base == nil }
    }

    /// Ends grace times after a while.
    func scheduleExpiry() {
        let grace = mount.options.grace.components
        let pause = Double(grace.seconds) + Double(grace.attoseconds) * 1e-18
        mount.background.asyncAfter(deadline: .now() + pause + 0.05) { [weak self] in
            self.map { $0.expire($0.parked.takeExpired()) }
        }
    }

    /// A folder or link has the name of a secret that was renamed away, which cannot come back there: were its ciphertext
    /// to stay, what is made as `x.gpg` beside a folder `x` would be shown by another name.
    func expireBeside(_ node: Node) {
        guard !parked.isEmpty, let path = tree.backingPath(of: node) else { return }
        expire(parked.take(beside: path))
    }

    /// Removes ciphertexts that are parked no more.
    func expire(_ secrets: [(path: FilePath, status: FileStatus)]) {
        for (path, status) in secrets {
            let isRemoved = namespace.withLock { _ in
                // A new one may have come a moment ago.
                guard let disk = try? root.status(of: path), disk.isUnchanged(since: status) else {
                    return false
                }
                // An editor that made a backup of it and never came back: the recipients stay.
                if Store.isRecipientFile(path) { return false }
                guard (try? root.unlink(path)) != nil else { return false }
                store.forgetSize(of: disk)
                return true
            }
            guard isRemoved else { continue }
            try? root.synchronizeParent(of: path)
            sink.note(.removed(path))
        }
    }
}
