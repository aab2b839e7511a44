public import Access
import Fuse
import Stores
import Synchronization
import System
public import SystemPackage

/// The file system that the kernel shows: all visible stores, each a directory of its own.
///
/// It only routes: the number of an inode leads to its node, that to the `Subtree` that answers for it. How a secret is
/// encrypted is `Stores`', how a change reaches git is its `ChangeSink`'s.
///
/// The order of locks: `SecretFile.saving`, `MountedStore.namespace`, then one of `Tree`, `Top`, `Handles`, `Node`,
/// `SecretFile.state`, `MountedStore.dirty`, of which none is held while another is taken, but for `ScratchMemory` below
/// `SecretFile.state`. The kernel is notified under none of them.
///
/// The kernel keeps names and attributes for no longer than `MountState.timeout`: what `pass`, `git` or anybody else
/// changes in a store is seen without a watch on it, which may be lost, and without a word to the kernel, which would
/// wait for whoever holds a folder.
public final class StoreFilesystem: Sendable {
    /// What can be set of a mount.
    public struct Options: Sendable {
        /// The size in bytes that no secret may exceed (`limits.secret`).
        public var secretLimit: Int
        /// The bytes that all scratch files may take together (`limits.scratch`).
        public var scratchLimit = 64 << 20
        /// Shell patterns of scratch names besides the known ones (`mount.scratch`).
        public var scratchPatterns: [String] = []
        /// How long a secret that was renamed to a scratch name stays on disk (`mount.grace`).
        public var grace = Duration.seconds(10)

        /// Where it is mounted: links may be made by absolute paths below it.
        public var mountPoint: FilePath?
        /// Told when a save fails that has not failed before; returns at once.
        public var saveFailed: @Sendable (UnsavedSecret) -> Void = { _ in }
        /// How long what was read is not decrypted again after its last close (`cache.time`); with 0 it is forgotten then.
        public var cacheTime = Duration.seconds(60)

        /// Which stores are locked.
        public var locks = StoreLocks()
        /// Whom to ask whether a locked store may be read again.
        public var consent: any Consent = NoConsent()
        /// Judges who may read; nil: everybody may.
        public var judge: (any ReadJudge)?
        /// Turns to raise a counter in a secret, which commands raise, too.
        public var countingTurns = CountingTurns()
        /// What tells of earlier states of stores; nil: none are shown.
        public var past: (any StorePast)?
        /// The files at the top of the control directory.
        public var notes: [ControlNote] = []

        /// Options with their defaults.
        public init(secretLimit: Int = 64 << 20) {
            self.secretLimit = secretLimit
        }
    }

    let mount: MountState
    let top: Top
    let control: ControlDirectory
    let handles = Handles()
    /// Who waits for an open.
    let waits = WaitingOpens()

    /// A file system without stores.
    public init(options: Options) {
        mount = MountState(options: options)
        top = Top(mount)
        control = ControlDirectory(top, in: mount, notes: options.notes)
        top.addUnlisted(control, name: ControlDirectory.name)
    }

    var tree: Tree { mount.tree }

    /// A node and what answers for it.
    func find(_ inode: InodeNumber) throws(Errno) -> (node: Node, subtree: any Subtree) {
        let node = try tree.node(inode)
        return (node, node.subtree ?? top)
    }

    /// As `find`, of a folder in which a name is to change.
    func findWritable(_ folder: InodeNumber) throws(Errno) -> (node: Node, subtree: any Subtree) {
        let found = try find(folder)
        try found.subtree.checkWritable(found.node)
        return found
    }
}
