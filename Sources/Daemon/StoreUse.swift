public import Stores

/// What a command opens a store for.
public enum StoreUse: Sendable {
    /// To look into it.
    case reading
    /// To change files in it, which `readOnly` forbids.
    case writing
}

extension StoreDefinition {
    /// The store's folder, opened for a command. Every command comes by here, so that none writes into a store that is
    /// read-only.
    /// - Throws: One sentence where the store is not for that use, its disk does not answer, or its folder can be no store or
    ///   cannot be opened.
    public func root(for use: StoreUse, environment: [String: String]) throws(DaemonError) -> Root {
        if use == .writing, isReadOnly {
            throw DaemonError(
                message: "the store \"\(name)\" is read-only: passdir store set \(ShellWord.quoted(name)) "
                    + "readOnly false allows changes")
        }
        guard DiskLook.at(path).answers else { throw DaemonError(message: silentDisk) }
        if let objection = StorePlace.objection(toLinked: path, environment: environment) {
            throw DaemonError(message: "the store \"\(name)\" cannot be opened: \(path) \(objection)")
        }
        do {
            return try Root(path: path)
        } catch {
            throw DaemonError(message: sentence(forUnopened: error))
        }
    }
}
