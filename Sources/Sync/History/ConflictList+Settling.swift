import Git
public import Stores
import SystemPackage

extension ConflictList {
    /// Whose version of a secret in conflict stays.
    public enum Side: String, Sendable, CaseIterable {
        /// The conflict file's.
        case conflict
        /// The one that has the name.
        case named
    }

    /// Keeps one version of a conflict under the secret's name; the other one stays in the history.
    ///
    /// - Parameter commit: commits changes that lie on disk, and pushes them if it is told so.
    /// - Returns: false when a version that was saved meanwhile took the conflict's name, so that it stays one.
    /// - Throws: what `commit` throws, before anything is changed; `StoreError`.
    public func settle(
        _ entry: Entry, keeping side: Side, commit: (_ changes: [Change], _ pushing: Bool) throws -> Void
    ) throws -> Bool {
        if side == .conflict { try refuseSteering(entry) }
        let root = store.root
        let changes = [Change.saved(entry.original), .saved(entry.path)]
        let loser = side == .named ? entry.path : entry.original
        let known = (try? root.statusIfPresent(of: loser)) ?? nil
        guard side == .conflict || (try? root.statusIfPresent(of: entry.original)) ?? nil != nil else {
            let name = store.visiblePath(of: entry.original)
            throw StoreError(
                .system(.noSuchFileOrDirectory),
                "\(store.name)/\(name) is gone, and only the conflict file is left of it; --keep conflict "
                    + "restores it under that name")
        }
        // The version that gives way must be in the history first.
        try commit(changes, false)
        let isSettled = try StoreError.wrapping("settle", entry.path) {
            if side == .conflict { _ = try root.takePlace(of: entry.original, movingOldTo: entry.path) }
            // The loser has the conflict's name now, whichever it was.
            guard let found = try root.statusIfPresent(of: entry.path) else { return true }
            guard known?.isSameContent(as: found) ?? false else { return false }
            try root.unlink(entry.path)
            return true
        }
        try StoreError.wrapping("settle", entry.path) { try root.synchronizeParent(of: entry.path) }
        try commit(changes, true)
        return isSettled
    }

    /// Whoever can push can push a file beside a list or a rule file that is called a conflict: taking its place is more than
    /// choosing a version.
    private func refuseSteering(_ entry: Entry) throws(StoreError) {
        guard let name = entry.original.lastComponent, let steering = SteeringName(name) else { return }
        let (file, other) = ("\(store.name)/\(entry.original)", "\(store.name)/\(entry.path)")
        let way =
            steering == .list
            ? "decides who reads: change it with passdir recipients"
            : "steers git: change it in an editor"
        throw StoreError(
            .system(.notPermitted),
            "\(file) \(way) after a look at \(other), then settle with --keep named")
    }
}
