import Fuse
public import Stores
import Synchronization
public import SystemPackage

extension StoreFilesystem {
    /// Shows a store under its name, behind the others. Changes that are durable on disk go to `sink`, a `.gpg-id` that is
    /// saved goes to `changeRecipients`. May be called while mounted.
    public func add(
        _ store: Store, sink: any ChangeSink, changeRecipients: RecipientChanger? = nil,
        isReadOnly: Bool = false
    ) throws(Errno) {
        guard let name = Name(store.name), !VisibleName.isHidden(name) else { throw .invalidArgument }
        let mounted = MountedStore(
            store, sink: sink, changeRecipients: changeRecipients, isReadOnly: isReadOnly,
            scratchMemory: scratchMemory)
        stores.withLock { $0.append((name, mounted)) }
        tree.add(mounted, name: name)
    }

    /// Shows a store no longer. What is edited and not saved is saved first; files that are open can be read and saved
    /// until they are closed, everything else of it is gone.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    public func remove(_ store: Store) {
        guard let (name, mounted) = shown(store), let node = tree.child(name, of: tree.root) else { return }
        saveEverything(of: store)
        mounted.hasLeft.store(true, ordering: .releasing)
        stores.withLock { $0.removeAll { $0.store === mounted } }
        tree.conceal(node)
        concealed.withLock { $0.append((node, mounted)) }
        let notifier = notifier.withLock { $0 }
        notifier?.deleteEntry(parent: .root, child: node.inode, name: name)
        notifier?.invalidateEntry(parent: .root, name: name)
    }

    /// Shows a store again that was removed, with what is unsaved of it.
    public func restore(_ store: Store, isReadOnly: Bool) throws(Errno) {
        guard let name = Name(store.name), !VisibleName.isHidden(name) else { throw .invalidArgument }
        let known = concealed.withLock { concealed in
            concealed.firstIndex { $0.store.store === store }.map { concealed.remove(at: $0) }
        }
        guard let (node, mounted) = known else { throw .noSuchFileOrDirectory }
        mounted.isReadOnly.store(isReadOnly, ordering: .relaxed)
        tree.reveal(node, mounted, name: name)
        mounted.hasLeft.store(false, ordering: .releasing)
        stores.withLock { $0.append((name, mounted)) }
    }

    /// Whether something of a store is in memory only.
    public func holdsUnsaved(of store: Store) -> Bool {
        dirty.withLock { $0.values.contains { $0.store?.store === store } }
    }

    /// Shows a store under the name that it has now; files that are open stay so.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    public func showName(of store: Store) throws(Errno) {
        guard let (name, mounted) = shown(store) else { return }
        guard let newName = Name(store.name), !VisibleName.isHidden(newName) else { throw .invalidArgument }
        guard newName != name, let node = tree.child(name, of: tree.root) else { return }
        stores.withLock { stores in
            guard let index = stores.firstIndex(where: { $0.store === mounted }) else { return }
            stores[index].name = newName
        }
        tree.renameStore(node, to: newName)
        notifier.withLock { $0 }?.invalidateEntry(parent: .root, name: name)
    }

    /// Whether a store may be changed through the mount from now on.
    public func setReadOnly(_ isReadOnly: Bool, _ store: Store) {
        shown(store)?.store.isReadOnly.store(isReadOnly, ordering: .relaxed)
    }

    /// Lists the stores in another order; those that are not named come last.
    public func setOrder(_ order: [Store]) {
        stores.withLock { stores in
            let sorted = order.compactMap { wanted in stores.first { $0.store.store === wanted } }
            stores = sorted + stores.filter { entry in !order.contains { $0 === entry.store.store } }
        }
    }

    /// Saves what is edited of one store; what fails stays listed in `unsaved`.
    public func saveEverything(of store: Store) {
        saveAll(dirty.withLock { Array($0.values) }.filter { $0.store?.store === store })
    }

    private func shown(_ store: Store) -> (name: Name, store: MountedStore)? {
        stores.withLock { stores in stores.first { $0.store.store === store } }
    }
}
