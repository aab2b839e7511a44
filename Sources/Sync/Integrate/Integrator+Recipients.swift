import OpenPGP
import Stores
import System
import SystemPackage

extension Integrator {
    /// Notes who the recipients are before anything of the remote comes in: what comes in then is somebody else's doing.
    nonisolated(nonsending) func noteFirstRecipients() async throws(SyncFailure) {
        let store = store
        let recorded = await PosixThread.run(named: "recipients") {
            Result { () throws(StoreError) in try store.recordRecipientsAtFirstSight() }
        }
        if case .failure(let error) = recorded {
            throw SyncFailure(kind: .passing, message: "the remote's changes are pending: \(error.message)")
        }
    }

    /// Tells the user whom a merge has added to a `.gpg-id`, and which secrets it has left encrypted to others.
    nonisolated(nonsending) func tellOfRecipients() async {
        let (files, brought) = (newRecipients, brought)
        guard !brought.isEmpty else { return }
        (newRecipients, self.brought) = ([], [])
        let store = store
        let sentences = await PosixThread.run(named: "recipients") {
            Self.sentences(onListsIn: files, store) + Self.sentences(onDriftIn: brought, store)
        }
        for sentence in sentences { options.notify(store.name, sentence) }
    }

    private static func sentences(onListsIn files: Set<FilePath>, _ store: Store) -> [String] {
        guard !files.isEmpty, let snapshot = try? store.snapshot() else { return [] }
        store.note(snapshot)
        return snapshot.changes.filter { files.contains($0.file) }.compactMap { Self.sentence($0, store) }
    }

    private static func sentences(onDriftIn brought: Set<FilePath>, _ store: Store) -> [String] {
        let drifted = DriftList(store).look(at: brought)
        guard !drifted.isEmpty else { return [] }
        return ["\(store.name): \(DriftList.sentence(drifted, of: store))."]
    }

    /// Who was added to a list by others, for the user; nil where nobody was.
    private static func sentence(_ change: ForeignRecipients, _ store: Store) -> String? {
        let advice =
            "run passdir recipients confirm \(ShellWord.quoted(store.name)) to review it, then approve or refuse it."
        if let problem = change.problem {
            return "the remote of \"\(store.name)\" changed a recipient list, and \(problem)"
        }
        let keys = change.added.map { fingerprint in
            (try? store.engine.keys(matching: [fingerprint], secretOnly: false))?.first?.title ?? fingerprint
        }
        // A name may be as long as a file.
        let names = change.unknown.map {
            "\(VisibleText.cut($0.name, atMost: 100)), which matches no single key here"
        }
        let all = keys + names
        guard !all.isEmpty else { return nil }
        let more = all.count > 3 ? " and \(all.count - 3) more" : ""
        return
            "\(all.prefix(3).joined(separator: ", "))\(more) was added to \(change.file.string) by the remote of "
            + "\"\(store.name)\": \(advice)"
    }
}
