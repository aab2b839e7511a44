import Dispatch
import Fuse
import Glibc
import Stores
import Synchronization
import System
import SystemPackage

/// The folders whose changes on disk are told to the kernel, whoever makes them: `pass`, `git`, an editor, ourselves. Only of
/// these it keeps names and attributes.
///
/// One instance of inotify(7) for all stores, as a user has few. A folder counts as watched only while all above it are,
/// for what lies at its path is decided there.
final class FolderWatches: Sendable {
    private struct Watched {
        var folder: Node
        var store: MountedStore
        /// Which folder had the store's path (`Root.generation`).
        var generation: Int
    }

    private struct State {
        var inotify: Inotify?
        var folders: [CInt: Watched] = [:]
        var watches: [InodeNumber: CInt] = [:]
        var isOver = false
    }

    private static let events =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF
        | IN_MOVE_SELF | IN_EXCL_UNLINK | Int32(bitPattern: UInt32(IN_ONLYDIR))
    /// A folder that was moved or removed: what lies at the paths below it may be another's now.
    private static let removals = UInt32(IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
    private static let ownRemovals = UInt32(IN_DELETE_SELF | IN_MOVE_SELF)

    private let limit: Int
    private let state = Mutex(State())
    /// Held by who takes events until they are handed on.
    private let handingOn = Mutex<Void>(())

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a folder of a store is watched by now.
    func include(_ folder: Node, of store: MountedStore) -> Bool {
        let generation = store.root.generation
        return state.withLock { state in
            guard let watch = state.watches[folder.inode], let watched = state.folders[watch] else {
                return false
            }
            return watched.folder === folder && watched.generation == generation
        }
    }

    /// Watches a folder whose parent is watched.
    /// - Returns: whether that could be had.
    func add(_ folder: Node, at path: FilePath, of store: MountedStore) -> Bool {
        guard limit > 0 else { return false }
        let generation = store.root.generation
        guard let inotify = started(), let opened = try? store.root.openFolder(path),
            let watch = try? opened.watch(by: inotify, for: Self.events)
        else { return false }
        let isFull = state.withLock { state in
            guard !state.isOver else { return false }
            // It may be watched already, by another node or another path.
            let other = state.folders[watch]
            if other == nil, state.folders.count >= limit { return true }
            if let other { state.watches[other.folder.inode] = nil }
            state.folders[watch] = Watched(folder: folder, store: store, generation: generation)
            state.watches[folder.inode] = watch
            return false
        }
        // Which of them are still looked at is not known: all begin anew.
        if isFull { forgetAll { _ in true } }
        return !isFull
    }

    private func started() -> Inotify? {
        state.withLock { state in
            if state.isOver { return nil }
            if let inotify = state.inotify { return inotify }
            do throws(Errno) {
                let inotify = try Inotify()
                try PosixThread.start(named: "changes") { [self] in serve(inotify) }
                state.inotify = inotify
                return inotify
            } catch {
                return nil
            }
        }
    }

    private func serve(_ inotify: Inotify) {
        while !state.withLock({ $0.isOver }), (try? inotify.wait()) != nil { handOnEvents(of: inotify) }
    }

    /// Hands on what has happened up to now, each event to the queue of its store.
    func handOnEvents() {
        if let inotify = state.withLock({ $0.inotify }) { handOnEvents(of: inotify) }
    }

    private func handOnEvents(of inotify: Inotify) {
        handingOn.withLock { _ in
            while let events = try? inotify.pendingEvents(), !events.isEmpty {
                for event in events { handOn(event) }
            }
        }
    }

    private func handOn(_ event: Inotify.Event) {
        if event.mask & UInt32(IN_IGNORED) != 0 { return drop(event.watch) }
        // Where events were lost (-1), what the kernel keeps ends by itself.
        guard let watched = state.withLock({ $0.folders[event.watch] }) else { return }
        let store = watched.store
        let isFolder = event.mask & UInt32(IN_ISDIR) != 0
        if event.mask & Self.ownRemovals != 0 || isFolder && event.mask & Self.removals != 0 { forget(store) }
        store.changes.async { store.takeIn(event.name, in: watched.folder, isFolder: isFolder) }
    }

    /// Watches nothing of a store any more, until somebody looks there again.
    func forget(_ store: MountedStore) { forgetAll { $0 === store } }

    private func forgetAll(of isGone: (MountedStore) -> Bool) {
        let (inotify, gone) = state.withLock { state in
            let gone = state.folders.filter { isGone($0.value.store) }
            for (watch, watched) in gone {
                state.folders[watch] = nil
                state.watches[watched.folder.inode] = nil
            }
            return (state.inotify, Array(gone.keys))
        }
        for watch in gone { inotify?.remove(watch) }
    }

    private func drop(_ watch: CInt) {
        state.withLock { state in
            guard let watched = state.folders.removeValue(forKey: watch) else { return }
            state.watches[watched.folder.inode] = nil
        }
    }

    /// The mount is gone: nothing is watched any more, and the thread ends.
    func end() {
        let inotify = state.withLock { state in
            state.isOver = true
            state.folders = [:]
            state.watches = [:]
            return state.inotify.take()
        }
        // An event, so that the thread looks.
        if let inotify, let watch = try? inotify.add("/", IN_DELETE_SELF) { inotify.remove(watch) }
    }
}
