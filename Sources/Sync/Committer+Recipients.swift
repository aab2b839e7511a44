import OpenPGP
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Notes who the recipients are before anything of the remote comes in: what comes in then is somebody else's doing.
    func noteFirstRecipients() async throws(SyncFailure) {
        let store = store
        let error = await PlainThread.run { () -> StoreError? in
            do throws(StoreError) {
                try store.recordRecipientsAtFirstSight()
                return nil
            } catch {
                return error
            }
        }
        guard let error else { return }
        throw SyncFailure(kind: .passing, message: "changes of the remote wait: \(error.message)")
    }

    /// Tells the user whom a merge has added to a `.gpg-id`.
    func tellOfNewRecipients() async {
        let files = sync.newRecipients
        guard !files.isEmpty else { return }
        sync.newRecipients = []
        let store = store
        let sentences = await PlainThread.run { () -> [String] in
            guard let changes = try? store.snapshot().changes else { return [] }
            store.noteOffered(changes)
            return changes.compactMap { change in
                guard !change.added.isEmpty, files.contains(change.file) else { return nil }
                let keys = change.added.map { fingerprint in
                    (try? store.engine.keys(matching: [fingerprint], secretOnly: false))?.first?.title
                        ?? fingerprint
                }
                return "\(keys.joined(separator: ", ")) was added to \(change.file.string) by the remote of "
                    + "\"\(store.name)\": run passdir recipients confirm \(store.name) to agree."
            }
        }
        for sentence in sentences { options.notify(store.name, sentence) }
    }
}
