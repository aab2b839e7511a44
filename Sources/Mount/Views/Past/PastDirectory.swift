import Fuse
import OpenPGP
import Stores
import Synchronization
import System
import SystemPackage

/// What stores held: `.passdir/at`, and the versions of a secret in `.passdir/history`. All of it is read-only.
///
/// What a node stands for lies in the node itself (`PastItem`), so that stat(2) looks nowhere. What is looked up or listed is
/// read from git's objects, on threads of the store (`lookBack`), not on those that receive requests; folders that were
/// looked at lately are remembered, and as they are known by what they hold they never change.
final class PastDirectory: ReadOnlySubtree {
    static let name: Name = "at"

    let mount: MountState
    /// The mount point, which lives as long as the file system, which owns both.
    private unowned let top: Top
    /// Texts of versions that were opened.
    let contents: PastContents
    /// Why something could not be shown.
    let sentences = ValueSentences()
    /// Weighed by their entries.
    private let listings = Mutex(RecentlyUsed<PastFolder, PastListing>(limit: 100_000))

    init(_ top: Top, in mount: MountState) {
        (self.top, self.mount) = (top, mount)
        contents = PastContents(for: mount.cacheTime, queue: mount.background)
    }

    var tree: Tree { mount.tree }

    func lookup(_ name: Name, in folder: Node) throws(Errno) -> Entry {
        // All else is found later.
        guard case .top? = folder.past else { throw .noSuchFileOrDirectory }
        return entry(name, .point(name.string), in: folder)
    }

    func lookupLater(
        _ name: Name, in folder: Node, for caller: Caller
    ) throws(Errno) -> PendingReply<Entry>? {
        try checkShown(folder)
        let reply = PendingReply<Entry>()
        switch folder.past {
        case .top?, nil: return nil
        case .point(let typed)?:
            guard let store = top.store(name) else { throw .noSuchFileOrDirectory }
            lookUp(name, in: folder, of: store, for: caller, reply) { past, cancellation throws(StoreError) in
                let state = try past.state(typed, of: store.store, cancellation: cancellation)
                return PastThing(
                    store: store, commit: state.commit, path: FilePath(), backing: FilePath(),
                    content: .folder(state.top))
            }
        case .versions(let store, let path, let backing)?:
            lookUp(name, in: folder, of: store, for: caller, reply) { past, cancellation throws(StoreError) in
                let versions = try past.versions(of: backing, in: store.store, cancellation: cancellation)
                guard let found = VersionNames.named(versions).first(where: { $0.name == name })?.version
                else {
                    return nil
                }
                return PastThing(
                    store: store, commit: found.commit, path: path, backing: found.path,
                    content: .secret(found.blob))
            }
        case .thing(let parent)?:
            guard case .folder(let place) = parent.content else { throw .notDirectory }
            guard name != MountedStore.refusedTarget else { throw .permissionDenied }
            if let listing = listings.withLock({ $0.find(place) }) {
                guard let item = listing[name] else { throw .noSuchFileOrDirectory }
                if let thing = PastThing(item, in: parent) {
                    reply.give(.success(entry(name, .thing(thing), in: folder)))
                    return reply
                }
            }
            lookUp(name, in: folder, of: parent.store, for: caller, reply) { past, _ throws(StoreError) in
                let listing = try self.listing(of: place, parent.store, past)
                guard let item = listing[name] else { return nil }
                if let thing = PastThing(item, in: parent) { return thing }
                return try PastThing(link: item, in: parent, listing, past)
            }
        }
        return reply
    }

    /// Refuses to look into the past of a store that is no longer shown.
    func checkShown(_ node: Node) throws(Errno) {
        guard node.past?.store?.hasLeft.load(ordering: .acquiring) != true else {
            throw .noSuchFileOrDirectory
        }
    }

    /// Answers a look-up when something is found, or nothing.
    private func lookUp(
        _ name: Name, in folder: Node, of store: MountedStore, for caller: Caller,
        _ reply: PendingReply<Entry>,
        _ find: @escaping @Sendable (any StorePast, Cancellation) throws(StoreError) -> PastThing?
    ) {
        store.lookBack(for: caller, find) { result in
            do throws(Errno) {
                guard let thing = try self.told(result, of: folder) else { throw .noSuchFileOrDirectory }
                reply.give(.success(self.entry(name, .thing(thing), in: folder)))
            } catch {
                reply.give(.failure(error))
            }
        }
    }

    /// What was found below a node, or the errno of why not, whose sentence `user.passdir.error` of that node has.
    func told<Value>(_ result: Result<Value, StoreError>, of node: Node) throws(Errno) -> Value {
        do throws(StoreError) {
            let value = try result.get()
            sentences.set(nil, for: tree.visiblePath(of: node))
            return value
        } catch {
            let errno = Errno(error)
            if errno != .interrupted { sentences.set(error.message, for: tree.visiblePath(of: node)) }
            throw errno
        }
    }

    /// What is shown of a folder. It may have to be read.
    func listing(
        of folder: PastFolder, _ store: MountedStore, _ past: any StorePast
    ) throws(StoreError) -> PastListing {
        if let known = listings.withLock({ $0.find(folder) }) { return known }
        let listing = PastListing(try past.entries(of: folder, in: store.store))
        listings.withLock { $0.keep(listing, for: folder, weight: listing.items.count + 1) }
        return listing
    }

    /// The entry of a name, with a look-up of its node counted.
    func entry(_ name: Name, _ item: PastItem, in folder: Node) -> Entry {
        let node = tree.shown(item.kind, name: name, in: folder, self, past: item)
        // As in a store: a folder's name is not looked up again at once.
        return Entry(
            inode: node.inode, attributes: attributes(of: node),
            entryTimeout: node.kind == .directory ? MountState.timeout : 0)
    }

    func attributes(of node: Node) -> Attributes {
        guard case .thing(let thing)? = node.past else {
            return mount.attributes(of: node, permissions: 0o500)
        }
        var facts =
            switch thing.content {
            case .folder: mount.attributes(of: node, permissions: 0o500)
            case .link(let target):
                mount.attributes(of: node, permissions: 0o777, size: Int64(target.count))
            case .secret, .plain:
                // What it was when it was opened last; nothing is known of one that nobody has opened.
                mount.attributes(
                    of: node, permissions: 0o400, size: max(0, node.toldSize.load(ordering: .acquiring)))
            }
        let time = FileTime(seconds: thing.commit.time, nanoseconds: 0)
        (facts.accessTime, facts.modificationTime, facts.changeTime) = (time, time, time)
        return facts
    }

    func target(of link: Node) throws(Errno) -> [UInt8] {
        guard case .thing(let thing)? = link.past, case .link(let target) = thing.content else {
            throw .invalidArgument
        }
        return target
    }

    /// `error` tells why something could not be shown; `store` the name of the store.
    func extendedAttribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8] {
        switch TellingAttribute(name) {
        case .error?:
            guard let sentence = sentences.of(tree.visiblePath(of: node)) else { throw .noData }
            return Array(VisibleText.line(sentence).utf8)
        case .store?:
            guard let store = node.past?.store else { throw .noData }
            return Array(store.store.name.utf8)
        default: throw .noData
        }
    }

    func statistics() throws(Errno) -> FileSystemStatistics { try top.statistics() }

    /// The stores that are shown, by name.
    var stores: [(name: Name, store: MountedStore)] {
        top.names.compactMap { name in top.store(name).map { (name, $0) } }
    }
}

extension PastThing {
    /// An entry of a folder; nil for a link, whose target is not known yet.
    fileprivate init?(_ item: PastListing.Item, in folder: PastThing) {
        let content: Content
        switch item.content {
        case .folder(let place): content = .folder(place)
        case .secret(let blob): content = .secret(blob)
        case .plain(let blob): content = .plain(blob)
        case .link: return nil
        }
        self.init(item, in: folder, content)
    }

    /// A link of a folder, whose target is read.
    fileprivate init?(
        link item: PastListing.Item, in folder: PastThing, _ listing: PastListing, _ past: any StorePast
    ) throws(StoreError) {
        guard case .link(let blob) = item.content else { return nil }
        let stored = try past.content(of: blob, in: folder.store.store)
        self.init(
            item, in: folder,
            .link(folder.store.pastTarget(of: item, storedAs: stored, in: folder.backing, listing)))
    }

    private init(_ item: PastListing.Item, in folder: PastThing, _ content: Content) {
        self.init(
            store: folder.store, commit: folder.commit, path: folder.path.appending(item.name),
            backing: folder.backing.appending(item.backing), content: content)
    }
}
