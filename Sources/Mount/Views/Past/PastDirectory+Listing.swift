import Fuse
import Stores
import SystemPackage

/// Folders are listed when they are opened.
extension PastDirectory {
    func entries(of folder: Node) throws(Errno) -> [ListedEntry] {
        guard case .top? = folder.past else { throw .notDirectory }
        // Nobody lists all that may be meant by a time.
        return []
    }

    func listsAtOnce(_ folder: Node) -> Bool {
        if case .top? = folder.past { true } else { false }
    }

    func listing(of folder: Node, for caller: Caller) throws(Errno) -> Reply<[ListedEntry]> {
        try checkShown(folder)
        let reply = PendingReply<[ListedEntry]>()
        switch folder.past {
        case .top?, nil: return .now(try entries(of: folder))
        case .point(let typed)?:
            listStores(with: typed, stores[...], found: [], in: folder, caller, reply)
        case .versions(let store, _, let backing)?:
            store.lookBack(for: caller) { past, cancellation throws(StoreError) in
                try past.versions(of: backing, in: store.store, cancellation: cancellation)
            } then: { result in
                self.give(result, of: folder, reply) { versions in
                    VersionNames.named(versions).map { ($0.name, .regular) }
                }
            }
        case .thing(let thing)?:
            guard case .folder(let place) = thing.content else { throw .notDirectory }
            thing.store.lookBack(for: caller) { past, _ throws(StoreError) in
                try self.listing(of: place, thing.store, past)
            } then: { result in
                self.give(result, of: folder, reply) { $0.items.map { ($0.name, $0.content.kind) } }
            }
        }
        return .later(reply)
    }

    private func give<Value>(
        _ result: Result<Value, StoreError>, of folder: Node, _ reply: PendingReply<[ListedEntry]>,
        _ names: (Value) -> [(Name, FileKind)]
    ) {
        do throws(Errno) {
            let found = names(try told(result, of: folder))
            reply.give(.success(found.map { listed($0, $1, in: folder) }))
        } catch {
            reply.give(.failure(error))
        }
    }

    /// Lists the stores that have a state of this name, asking one after the other.
    private func listStores(
        with typed: String, _ rest: ArraySlice<(name: Name, store: MountedStore)>, found: [Name],
        in folder: Node, _ caller: Caller, _ reply: PendingReply<[ListedEntry]>
    ) {
        guard let (name, store) = rest.first else {
            guard !found.isEmpty || stores.isEmpty else {
                return reply.give(.failure(.noSuchFileOrDirectory))
            }
            return reply.give(.success(found.map { listed($0, .directory, in: folder) }))
        }
        store.lookBack(for: caller) { past, cancellation throws(StoreError) in
            try past.state(typed, of: store.store, cancellation: cancellation)
        } then: { result in
            let isThere: Bool
            do throws(Errno) {
                _ = try self.told(result, of: folder)
                isThere = true
            } catch {
                if error == .interrupted { return reply.give(.failure(error)) }
                isThere = false
            }
            self.listStores(
                with: typed, rest.dropFirst(), found: isThere ? found + [name] : found, in: folder, caller,
                reply)
        }
    }

    private func listed(_ name: Name, _ kind: FileKind, in folder: Node) -> ListedEntry {
        ListedEntry(name: name, inode: tree.inode(of: name, in: folder), kind: kind)
    }
}

extension PastListing.Item.Content {
    /// What it is to a listing.
    fileprivate var kind: FileKind {
        switch self {
        case .folder: .directory
        case .secret, .plain: .regular
        case .link: .symbolicLink
        }
    }
}
