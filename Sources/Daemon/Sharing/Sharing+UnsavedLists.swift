import Stores
import SystemPackage

extension Sharing {
    /// The lists of a store that were edited in the mount and are not saved, a sentence each: what a command says and does
    /// is of the lists without these edits.
    public func unsavedLists(ofStore name: String) -> [String] {
        guard let store = mountedReport(ofStore: name) else { return [] }
        let failed = store.unsaved.filter { Self.isList($0.path) }.map { list in
            "\(name)/\(list.path) has an unsaved edit in the mount, which is ignored here: \(list.error)"
        }
        let written = store.beingWritten.filter(Self.isList).map { path in
            "\(name)/\(path) is being written in the mount and not saved yet; that edit is ignored here"
        }
        return failed + written
    }

    /// The paths in a store, as the mount shows them, that could not be saved.
    func unsavedPaths(inStore name: String) -> [FilePath] {
        mountedReport(ofStore: name)?.unsaved.map { FilePath($0.path) } ?? []
    }

    private func mountedReport(ofStore name: String) -> StoreReport? {
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        return (try? client.status(limit: .seconds(5)))?.stores.first { $0.name == name }
    }

    /// As `unsavedLists(ofStore:)`, of the store that a path leads to.
    public func unsavedLists(at path: String) -> [String] {
        guard let place = try? place(path, for: .reading) else { return [] }
        return unsavedLists(ofStore: place.store.name)
    }

    private static func isList(_ path: String) -> Bool { Store.isRecipientFile(FilePath(path)) }
}
