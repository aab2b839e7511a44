public import Stores
public import SystemPackage

/// The daemon of this user, for the administration of stores: told over its control socket, when one runs.
public struct ServingDaemonClient: ServingDaemon {
    private let client: ControlClient

    /// The daemon at a control socket.
    public init(socket: FilePath) {
        client = ControlClient(socket: socket)
    }

    /// As the protocol says; what is wrong with the configuration the caller has seen itself.
    public func reload() { try? client.reload() }
    /// As the protocol says.
    public func saveAndPush(store: String) { try? client.reload(pushing: store) }
    /// As the protocol says.
    public func reopen(store: String) { try? client.reload(reopening: store) }
    /// As the protocol says.
    public func unsaved(store: String) -> [String] { report(of: store)?.unsaved.map(\.path) ?? [] }

    /// As the protocol says.
    public func discardUnsaved(store: String) { _ = try? client.discardUnsaved(store: store) }

    /// As the protocol says.
    public func openForWriting(store: String) -> [String] { report(of: store)?.openForWriting ?? [] }

    private func report(of store: String) -> StoreReport? {
        (try? client.status(limit: .seconds(10)))?.stores.first { $0.name == store }
    }

    /// The secrets of a store that cannot be saved, also not when it is tried once more.
    public func stillUnsaved(store: String) -> [String] {
        guard !unsaved(store: store).isEmpty else { return [] }
        try? client.retrySaves()
        return unsaved(store: store)
    }

    /// Whether a daemon answers.
    public var isRunning: Bool { (try? client.status(limit: .seconds(5))) != nil }
}
