public import Contents
public import Fuse
public import Stores
import Synchronization
public import System
public import SystemPackage

extension StoreFilesystem {
    /// What the control directory is called in the mount point.
    public static var controlDirectory: String { ControlDirectory.name.string }

    /// Shows a store under its name, behind the others. Changes that are durable on disk go to `sink`, a `.gpg-id` that is
    /// saved goes to `changeRecipients`. May be called while mounted.
    public func add(
        _ store: Store, sink: any ChangeSink, changeRecipients: RecipientChanger? = nil,
        isReadOnly: Bool = false
    ) throws(Errno) {
        let mounted = MountedStore(
            store, in: mount, sink: sink, changeRecipients: changeRecipients, isReadOnly: isReadOnly)
        top.add(mounted, .directory, name: try visibleName(of: store))
    }

    private func visibleName(of store: Store) throws(Errno) -> Name {
        guard let name = Name(store.name), !VisibleName.isHidden(name), name != ControlDirectory.name else {
            throw .invalidArgument
        }
        return name
    }

    /// Shows a store no longer, whatever its disk does. Files that are open can be read and saved until they are closed,
    /// everything else of it is gone; what is edited and not saved is yet to be saved.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    /// - Parameter tellsWatchers: whether programs that watch the mount are told. For that, the kernel waits for whoever is at
    ///   work in the store's folder, and has everybody wait who looks up a name in the mount's top: not while its disk is silent.
    public func remove(_ store: Store, tellsWatchers: Bool = true) {
        guard let (name, mounted) = shown(store), let node = tree.child(name, of: tree.root) else { return }
        mounted.hasLeft.store(true, ordering: .releasing)
        top.state.withLock { state in
            state.entries.removeAll { $0.subtree === mounted }
            state.concealed.append((node, mounted))
        }
        tree.conceal(node)
        mount.kept.forgetAll { $0 === mounted }
        control.past?.contents.forgetKept { $0 === mounted }
        let kernel = mount.kernel.withLock { $0 }
        if tellsWatchers { kernel?.deleteEntry(parent: .root, child: node.inode, name: name) }
        kernel?.invalidateEntry(parent: .root, name: name)
    }

    /// Shows a store again that was removed, with what is unsaved of it.
    public func restore(_ store: Store, isReadOnly: Bool) throws(Errno) {
        let name = try visibleName(of: store)
        let known = top.state.withLock { $0.concealed.first { $0.store.store === store } }
        guard let (node, mounted) = known else { throw .noSuchFileOrDirectory }
        mounted.isReadOnly.store(isReadOnly, ordering: .relaxed)
        tree.reveal(node, mounted, name: name)
        mounted.hasLeft.store(false, ordering: .releasing)
        top.state.withLock { state in
            state.concealed.removeAll { $0.store === mounted }
            state.entries.append((name, mounted))
        }
    }

    /// Whether something of a store is in memory only.
    public func holdsUnsaved(of store: Store) -> Bool {
        top.allStores.contains { $0.store === store && !$0.dirtyNodes.isEmpty }
    }

    /// Whether a program has a secret of a store open, or something of it is in memory only.
    public func isInUse(_ store: Store) -> Bool {
        holdsUnsaved(of: store)
            || handles.files.contains { ($0 as? OpenSecret)?.store.store === store }
    }

    /// Shows a store under the name that it has now; files that are open stay so.
    ///
    /// Not from a thread that serves a request: the kernel is told.
    public func showName(of store: Store) throws(Errno) {
        guard let (name, mounted) = shown(store) else { return }
        let newName = try visibleName(of: store)
        guard newName != name, let node = tree.child(name, of: tree.root) else { return }
        top.state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.subtree === mounted }) else { return }
            state.entries[index].name = newName
        }
        tree.renameStore(node, to: newName)
        mount.kernel.withLock { $0 }?.invalidateEntry(parent: .root, name: name)
    }

    /// Whether a store may be changed through the mount from now on.
    public func setReadOnly(_ isReadOnly: Bool, _ store: Store) {
        shown(store)?.store.isReadOnly.store(isReadOnly, ordering: .relaxed)
    }

    /// Lists the stores in another order; what is not named comes last.
    public func setOrder(_ order: [Store]) {
        func isOf(_ store: Store, _ entry: (name: Name, subtree: any Subtree)) -> Bool {
            (entry.subtree as? MountedStore)?.store === store
        }
        top.state.withLock { state in
            let sorted = order.compactMap { wanted in state.entries.first { isOf(wanted, $0) } }
            state.entries = sorted + state.entries.filter { entry in !order.contains { isOf($0, entry) } }
        }
    }

    /// Where rendered files are, below the mount point.
    public static let renderedFolder = FilePath(
        root: nil, components: ControlDirectory.name, ControlPlace.renderedName)

    /// Keeps contents for so long after they were closed last, from now on; where that is shorter than before, forgets those that
    /// are kept.
    public func setCacheTime(_ time: Duration) {
        guard mount.cacheTime.change(to: time) else { return }
        mount.kept.forgetAll { _ in true }
        control.past?.contents.forgetKept { _ in true }
    }

    /// Shows these templates as files with their values, and no others; what is open stays so.
    public func setTemplates(_ templates: [RegisteredTemplate]) { control.templates.set(templates) }

    /// The rendered files that could not be made when they were opened last, with a sentence each.
    public var renderingFailures: [(name: Name, sentence: String)] { control.templates.failures }

    /// Shows files with values for as long as a process runs, and then no more.
    /// - Returns: their folder, below the mount point.
    /// - Throws: `.missing` for a file whose secret is not there; `.system` where there are too many such folders.
    public func hold(_ files: [HeldFile], for owner: RunningProcess) throws(ContentsError) -> FilePath {
        for file in files {
            if let objection = control.objection(toHolding: file) {
                throw ContentsError(.missing, objection)
            }
        }
        do throws(Errno) {
            let name = try control.held.hold(files, for: owner)
            return FilePath(root: nil, components: ControlDirectory.name, ControlPlace.runName, name)
        } catch {
            throw ContentsError(.system, "too many programs with files run: \(error)")
        }
    }

    /// The opens that wait, as for a passphrase; the longest wait first.
    public var waitingOpens: [WaitingOpen] {
        waits.all.compactMap { thread, node in
            let first = (node.subtree as? MountedStore)?.store.name ?? ControlDirectory.name.string
            let path = tree.visibleText(of: node, behind: first)
            return thread > 0 ? path.map { WaitingOpen(thread: thread, path: FilePath($0)) } : nil
        }
    }

    /// The processes for which files are shown.
    public var ownersOfHeldFiles: [Int32] { control.held.owners }

    private func shown(_ store: Store) -> (name: Name, store: MountedStore)? {
        for case (let name, let mounted as MountedStore) in top.state.withLock({ $0.entries })
        where mounted.store === store { return (name, mounted) }
        return nil
    }
}
