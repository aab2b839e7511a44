import Access
import Fuse
import Stores
import Synchronization
import System
import SystemPackage

/// A store as the mount shows it: the subtree of a top folder.
final class MountedStore: Subtree {
    let store: Store
    /// What it shares with the other subtrees.
    let mount: MountState
    /// Where changes go once they are durable on disk.
    let sink: any ChangeSink
    /// What saving a `.gpg-id` does; nil where it is read-only.
    let changeRecipients: RecipientChanger?

    /// Held while names on disk and in `Tree` change together, or are looked up together. Never held while waiting
    /// for a key, an encryption or an fsync.
    let namespace = Mutex<Void>(())

    /// Renames to where other rules apply.
    let ruledMoves: RuledMoves

    /// Secrets that an editor has renamed to a backup name.
    let parked = ParkedSecrets()
    /// Files that go on being shown with their `.gpg`.
    let kept = KeptNames()
    /// Links whose secrets may still come.
    let dangling = DanglingLinks()
    /// Links whose targets were read for their size.
    let seenLinks = SeenLinks()

    /// Secrets whose content is newer than the disk.
    let dirty = Mutex<[InodeNumber: Node]>([:])
    /// Those of them that are lists of recipients and could not be saved; one that is saved since may still be among them.
    let failedLists = Mutex<[InodeNumber: Node]>([:])
    /// Secrets that could not be opened, and lists that could not be saved, for `status`.
    let failures = Mutex(FileFailures())
    /// Whose change of the list of a folder was judged last.
    let judgedLists = Mutex<[FilePath: JudgedList]>([:])

    /// Whether anything of it may be read.
    let lock: StoreLock
    /// The question whether it may be read again, while a person is asked.
    let question = Mutex<SharedDecryption?>(nil)
    /// How many decryptions have a plaintext in their hands, or will.
    let runningDecryptions = Monitor(0)

    /// Reads its history: a disk that does not answer holds two threads of it at most.
    let backwardLooks = WorkerPool(limit: 2, idleSeconds: 5)

    /// Nothing is changed through the mount: EROFS.
    let isReadOnly: Atomic<Bool>
    /// The store is no longer shown: what is open of it may be read and saved to its end, nothing else.
    let hasLeft = Atomic<Bool>(false)

    init(
        _ store: Store, in mount: MountState, sink: any ChangeSink, changeRecipients: RecipientChanger?,
        isReadOnly: Bool
    ) {
        self.store = store
        self.mount = mount
        ruledMoves = RuledMoves(mount.tree)
        lock = mount.options.locks.lock(of: store.identifier)
        self.sink = sink
        self.changeRecipients = changeRecipients
        self.isReadOnly = Atomic(isReadOnly)
        store.asksPeople(when: { [lock] in !lock.isLocked })
    }

    var root: Root { store.root }
    var tree: Tree { mount.tree }

    /// Refuses a change of a store that is not to be changed, or whose folder is gone; one that has taken its place is
    /// gone over to.
    func checkWritable() throws(Errno) {
        if isReadOnly.load(ordering: .relaxed) { throw .readOnlyFileSystem }
        try Errno.catching { () throws(StoreError) in try root.follow(as: store.name) }
    }

    /// As `checkWritable`, for a change of the names in a folder.
    func checkWritable(_ folder: Node) throws(Errno) {
        try checkShown(folder)
        try checkWritable()
    }

    /// Refuses to look up names in what is no folder, or of a store that is no longer shown.
    func checkShown(_ folder: Node) throws(Errno) {
        guard folder.kind == .directory else { throw .notDirectory }
        guard !hasLeft.load(ordering: .acquiring) else { throw .noSuchFileOrDirectory }
    }

    /// Runs `body` under the namespace lock, with where a folder lies: the kernel lets a folder be renamed, or change places
    /// with another, while names in it are looked up and changed.
    func inNamespace<Value: Sendable>(
        of folder: Node, _ body: (FolderPlace) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        try namespace.withLock { _ throws(Errno) in try body(place(of: folder)) }
    }

    /// Where a folder lies. Under the namespace lock.
    func place(of folder: Node) throws(Errno) -> FolderPlace {
        guard let path = tree.backingPath(of: folder) else { throw .noSuchFileOrDirectory }
        return FolderPlace(node: folder, path: path)
    }
}
