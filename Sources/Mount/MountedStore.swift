import Stores
import Synchronization
import SystemPackage

/// A store as the mount shows it.
final class MountedStore: Sendable {
    let store: Store
    /// Where changes go once they are durable on disk.
    let sink: any ChangeSink

    /// What saving a `.gpg-id` does; nil where it is read-only.
    let changeRecipients: RecipientChanger?

    /// Held while names on disk and in `Tree` change together, or are looked up together. Never held while waiting
    /// for a key, an encryption or an fsync.
    let namespace = Mutex<Void>(())

    /// Secrets that an editor has renamed to a backup name.
    let parked = ParkedSecrets()

    /// Files that go on being shown with their `.gpg`.
    let kept = KeptNames()

    /// Links whose secrets may still come.
    let dangling = DanglingLinks()

    /// The last secret that could not be opened, or list that could not be saved, for `status`.
    let lastFailure = Mutex<FileFailure?>(nil)

    /// Nothing is changed through the mount: EROFS.
    let isReadOnly: Atomic<Bool>

    /// The store is no longer shown: what is open of it may be read and saved to its end, nothing else.
    let hasLeft = Atomic<Bool>(false)

    /// The memory that the scratch files of all stores share.
    let scratchMemory: ScratchMemory

    init(
        _ store: Store, sink: any ChangeSink, changeRecipients: RecipientChanger?, isReadOnly: Bool,
        scratchMemory: ScratchMemory
    ) {
        self.store = store
        self.sink = sink
        self.changeRecipients = changeRecipients
        self.isReadOnly = Atomic(isReadOnly)
        self.scratchMemory = scratchMemory
    }
}

extension MountedStore {
    /// Refuses a change of a store that is not to be changed, or whose folder is gone; one that has taken its place is
    /// gone over to.
    func checkWritable() throws(Errno) {
        if isReadOnly.load(ordering: .relaxed) { throw .readOnlyFileSystem }
        do throws(StoreError) {
            try store.root.follow(as: store.name)
        } catch {
            throw Errno(error)
        }
    }
}
