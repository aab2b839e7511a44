import Glibc
import Settings
import Stores
public import Sync
import System
import SystemPackage

/// What `status` and `sync` do where nothing is mounted: the same, by this process.
public struct UnmountedStores: Sendable {
    private let stores: [ServedStore]
    private let learned: LearnedState?

    /// Opens the stores that a mount would show.
    public init(environment: [String: String]) throws(DaemonError) {
        let opener = try StoreOpener(environment: environment)
        let file = Directories(environment: environment).state.appending("state.sqlite")
        // A look makes nothing; what a sync learns is kept where there is a place for it.
        let learned = file.exists ? try? LearnedState(file: file) : nil
        self.learned = learned
        var stores: [ServedStore] = []
        for definition in try opener.definitions() where definition.isInMount {
            let settings = try opener.settings(of: definition)
            do throws(DaemonError) {
                let root = try definition.root(for: .reading, environment: environment)
                // What cannot be used here is not said to be ready.
                _ = try DaemonError.wrapping { try opener.preparedEngine(definition.keyring) }
                let store = opener.store(settings, in: root, learned: learned)
                var options = try opener.committing(definition)
                options.keepFact = opener.keepingFacts(of: store.identifier)
                let committer = Committer(store: store, options: options, log: StoreOpener.quietLog)
                stores.append(
                    ServedStore(
                        settings, path: definition.path, store: store, committer: committer,
                        // This process looks once: what it does not wait for would never be told.
                        recipientPatience: 5))
            } catch {
                stores.append(ServedStore(settings, path: definition.path, failure: error.message))
            }
        }
        self.stores = stores
    }

    /// How the stores are doing.
    public func status() -> [StoreReport] {
        stores.map { store in
            if let committer = store.committer { ActorCall { await committer.lookOnly() }.value() }
            return store.beginReport(unsaved: [], beingWritten: []) { [] }()
        }
    }

    /// Brings stores and their remotes together; returns when that is done or has failed. Merges may ask for a passphrase.
    /// - Parameters:
    ///   - names: of the stores; none for all.
    ///   - choice: which history goes on where the two have parted; only with one store.
    public func synchronize(
        _ names: [String], choosing choice: HistoryChoice?
    ) throws(DaemonError) -> [SyncReport] {
        if let unknown = names.first(where: { name in !stores.contains { $0.name == name } }) {
            throw DaemonError(message: UnknownStore.sentence(unknown, among: stores.map(\.name)))
        }
        let wanted = stores.filter { names.isEmpty || names.contains($0.name) }
        let results = ServedStore.synchronize(wanted, choice)
        return zip(zip(wanted, ServedStore.unapprovedLists(of: wanted)), results).map { store, result in
            let (store, unapproved) = store
            return SyncReport(
                name: store.name, error: result.complaint, chosen: result.chosen,
                note: result.complaint == nil ? store.committer?.reasonForNoRemote : nil,
                conflicts: store.conflicts, newConflicts: store.conflicts(after: 0),
                drift: store.drift, unapproved: unapproved)
        }
    }
}

/// What `status --json` prints where nothing is mounted: as `StatusReport`, but that `mount` is null.
public struct UnmountedReport: Encodable, Sendable {
    /// The stores that a mount would show.
    public var stores: [StoreReport]

    /// A report of stores.
    public init(_ stores: [StoreReport]) {
        self.stores = stores
    }

    private enum CodingKeys: CodingKey { case mount, stores }

    /// Writes both keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeNil(forKey: .mount)
        try container.encode(stores, forKey: .stores)
    }
}
