public import SystemPackage

/// Whether a change of recipients is under way in a store, for those who do not make it.
extension Reencryption {
    /// Whether a change was begun on this machine and not finished, by this or another process.
    public static func isUnderWay(in store: Store) -> Bool {
        ChangeNotes.exist(for: store)
    }

    /// Refuses what would begin another change before one that was begun is over.
    public static func checkNoneUnderWay(in store: Store) throws(StoreError) {
        try ChangeNotes.checkNone(for: store)
    }

    /// A sentence about a staging folder in the store of which this machine knows nothing; nil where there is none.
    public static func foreignFolder(in store: Store) -> String? {
        guard StagingFolder.exists(in: store.root), !isUnderWay(in: store) else { return nil }
        return StagingFolder.foreign(store.name).message
    }

    /// What a change that was begun and not finished will commit itself, or take back: the paths that its journal names.
    /// Empty when there is none.
    public static func paths(underWayIn store: Store) -> Set<FilePath> {
        guard let journal = ChangeNotes.look(at: store)?.journal, journal.phase != .aborting else {
            return []
        }
        var paths = Set(journal.secrets)
        if let folder = journal.folder {
            paths.insert(folder.appending(Store.recipientFileName))
            paths.insert(folder.appending(Store.signatureFileName))
        }
        return paths
    }
}
