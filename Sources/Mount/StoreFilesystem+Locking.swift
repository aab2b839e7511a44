public import Access
import Dispatch
import Fuse
import OpenPGP
public import Stores
import Synchronization
import SystemPackage

/// Stores that are locked: nothing of them is read until they are unlocked; looking and saving go on.
extension StoreFilesystem {
    /// How long a lock waits, in seconds, for decryptions that it has ended.
    private static let patience = 0.08
    /// How long a suspension waits, in seconds, for prompts that are being closed.
    private static let patienceWithPrompts = 3.0

    /// Which stores are locked.
    public var locks: StoreLocks { mount.options.locks }

    /// Locks stores, and forgets what was decrypted of them: contents, the kernel's pages, decryptions on their way. What is
    /// not on disk stays in memory until it is saved, and is not read either. Opens that wait for a person fail. Returns when
    /// that is done; what takes gpg longer than a moment to let go of, it lets go of soon after.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    public func lock(_ stores: [Store], because reason: LockReason) {
        let locked = mounted(stores)
        // From here on nothing new is read.
        for store in locked { store.lock.lock(because: reason) }
        let nodes = locked.map { store in (store, tree.secrets(of: store)) }
        for (store, nodes) in nodes { store.endWaits(nodes, with: store.lockedError) }
        // What a program has written into a mapping comes back by this; it is to be saved, and is lost with its page.
        for case let secret as OpenSecret in handles.files
        where secret.isWritable && locked.contains(where: { $0 === secret.store }) {
            kernelForgets(secret.node)
        }
        mount.kept.forgetAll { store in locked.contains { $0 === store } }
        for (store, nodes) in nodes { store.wipeContents(of: nodes) }
        for node in control.values.wipe(of: locked) { kernelForgets(node) }
        control.sentences.forget()
        control.templates.forgetFailures()
        for store in locked { control.past?.contents.lock(store) }
        for case let version as OpenVersion in handles.files
        where locked.contains(where: { $0 === version.content.store }) { kernelForgets(version.node) }
        // Who has just read a page from before has it put away first: the kernel waits for that.
        for (_, nodes) in nodes { for node in nodes { kernelForgets(node) } }
        mount.background.sync {}
        for store in locked { store.waitForDecryptions(atMost: Self.patience) }
    }

    /// Unlocks stores; who waits for consent reads.
    public func unlock(_ stores: [Store]) {
        // Who has just unlocked is not idle.
        locks.noteRead()
        for store in mounted(stores) { store.unlock() }
    }

    /// Tells no more of passphrases that were not entered: they are by now.
    public func forgetPromptFailures(_ stores: [Store]) {
        for store in mounted(stores) { store.forgetPromptFailures() }
    }

    /// Answers every open that waits for a person, as the computer is about to be suspended: a program that waits for the
    /// mount cannot be stopped, and the system gives its suspension up after a while.
    public func endWaitsForPeople() {
        let error = StoreError(
            .openPGP(.timedOut), "the computer was suspended before anyone answered: read it again.")
        let stores = top.allStores
        // What needs nobody ends by itself.
        for store in stores { store.waitForDecryptions(atMost: InterruptedWait.patience / .seconds(1)) }
        for store in stores {
            store.endWaits(tree.secrets(of: store), with: error)
            control.past?.contents.endDecryptions(of: store, with: error)
        }
        // Prompts are closed before their readers are answered.
        for store in stores { store.waitForDecryptions(atMost: Self.patienceWithPrompts) }
    }

    private func mounted(_ stores: [Store]) -> [MountedStore] {
        top.allStores.filter { mounted in stores.contains { $0 === mounted.store } }
    }

    private func kernelForgets(_ node: Node) {
        mount.kernel.withLock { $0 }?.invalidateInode(node.inode, offset: 0, length: 0)
    }
}
