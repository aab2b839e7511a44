import OpenPGP
import System
public import SystemPackage

/// A change of recipients that is under way or was interrupted, for whoever commits: what is for its readers, or was put
/// in place by it, is not to be committed before it is resumed or taken back.
public struct UnfinishedChange: Sendable {
    private let store: Store
    private let journal: ChangeJournal
    private let added: AddedReaders?
    /// The ciphertexts that it has made.
    private let made: Set<String>

    /// nil when there is none, or when it has touched nothing outside its own folder yet.
    public init?(of store: Store) {
        guard let look = ChangeNotes.look(at: store), look.journal.phase != .staging,
            look.journal.phase != .finished
        else { return nil }
        self.store = store
        (journal, added) = (look.journal, look.added)
        made = Set(look.noted.compactMap { StagedName($0)?.new.text })
    }

    /// Whether what lies at a path, or was there, has to wait.
    /// - Parameter isEnding: what the user saved for the list in force does not wait any longer.
    public func holds(_ path: FilePath, isEnding: Bool) -> Bool {
        if journal.phase != .aborting, isOwn(path) { return true }
        guard added?.keyIDs.isEmpty == false else { return false }
        switch (try? store.root.statusIfPresent(of: path))?.map(\.kind) ?? nil {
        case .regular?: return path.isSecretName && isStray(path, isEnding)
        case .directory?:
            let secrets = (try? store.secrets(below: path, nested: true)) ?? []
            return secrets.contains { isStray($0, isEnding) }
        default: return false
        }
    }

    /// Whether the change commits or takes back what lies at a path, or below it.
    private func isOwn(_ path: FilePath) -> Bool {
        if let folder = journal.folder,
            [Store.recipientFileName, Store.signatureFileName].contains(where: {
                folder.appending($0) == path
            })
        {
            return true
        }
        return journal.secrets.contains { $0.starts(with: path) }
    }

    private func isStray(_ secret: FilePath, _ isEnding: Bool) -> Bool {
        guard let added, let content = (try? store.contentIdentity(of: secret))?.text else { return false }
        if added.before.contains(content) { return false }
        let isMade = made.contains(content)
        if isEnding, !isMade, journal.phase != .aborting { return false }
        guard let ids = try? store.recipientKeyIDs(of: secret) else { return false }
        // The list of the change goes with it.
        let file = try? store.recipientFile(for: secret)
        if file == journal.folder?.appending(Store.recipientFileName), journal.phase != .aborting {
            return isMade || added.isStray(ids, allowed: [])
        }
        return added.isStray(ids, allowed: (try? store.list(for: secret))?.recipients ?? [])
    }
}
