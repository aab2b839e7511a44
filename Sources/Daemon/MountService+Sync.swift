import Logging
import Mount
import Stores
import Sync
import System
import SystemPackage

extension MountService {
    func synchronize(
        stores names: [String]?, choosing choice: HistoryChoice?
    ) throws(ControlError) -> [SyncReport] {
        if choice != nil, names?.count != 1 {
            throw ControlError(
                .failed, "the history to keep is chosen for one store at a time: name the store")
        }
        let all = stores.all
        if let unknown = names?.first(where: { name in !all.contains { $0.name == name } }) {
            if stores.hiddenNames.contains(unknown) {
                throw ControlError(
                    .failed,
                    "the store \"\(unknown)\" is hidden in the mount and not synced with its remote: passdir "
                        + "store unhide \(unknown) shows it")
            }
            throw ControlError(.failed, UnknownStore.sentence(unknown, among: all.map(\.name)))
        }
        let named = all.filter { names?.contains($0.name) ?? true }
        let disks = named.map { $0.disk.begin() }.map { $0() }
        let silent = zip(named, disks).filter { !$1 }.map(\.0)
        let wanted = zip(named, disks).filter { $1 }.map(\.0)
        // What can be saved belongs to what is brought together.
        stores.retryFailedSaves()
        let before = wanted.map(\.conflictCount)
        var results = ServedStore.synchronize(wanted, choice)
        // The remote may have brought what a save waited for.
        if stores.retryFailedSaves() > 0 {
            for (index, again) in ServedStore.synchronize(wanted, nil).enumerated() {
                results[index].complaint = again.complaint
            }
        }
        let unapproved = ServedStore.unapprovedLists(of: wanted)
        return zip(zip(wanted, unapproved), zip(results, before)).map { store, outcome in
            let (store, unapproved) = store
            let (result, before) = outcome
            let unsaved = unsavedSentence(store.name).map { "\($0)." }
            let complaints = [unsaved, result.complaint].compactMap(\.self)
            return SyncReport(
                name: store.name, error: complaints.isEmpty ? nil : complaints.joined(separator: " "),
                chosen: result.chosen,
                note: complaints.isEmpty ? store.committer?.reasonForNoRemote : nil,
                conflicts: store.conflicts, newConflicts: store.conflicts(after: before),
                drift: store.drift, unapproved: unapproved)
        }
            // Nobody would hear of it: the committer waits until the disk answers.
            + silent.map { store in
                SyncReport(
                    name: store.name,
                    error: "its disk is not responding: it is synced once that answers again", chosen: [])
            }
            + (names == nil ? unsavedRest : []).map { store in
                SyncReport(
                    name: store.name,
                    error: [unsavedSentence(store.name), notShown(store)].compactMap(\.self)
                        .joined(separator: "; "), chosen: [])
            }
    }

    func discardUnsaved(store: String, path: String?) -> [String] {
        let discarded = filesystem.discardUnsaved(ofStore: store, path)
        for name in discarded { log.notice("discarded the unsaved text of \(store)/\(name)") }
        let lost = (stores.all + unsavedRest).filter { $0.name == store }.flatMap { $0.forgetLost(path) }
        return discarded + lost.filter { !discarded.contains($0) }
    }

    func abortSave(store name: String) -> AbortedSave? {
        // A store that was hidden meanwhile may still be saved.
        let served = stores.all.first { $0.name == name } ?? unsavedRest.first { $0.name == name }
        switch served?.runningChanges.abort() {
        case .undone(let place)?:
            log.notice("undid the change of recipients of \(name) that saving .gpg-id had started")
            return AbortedSave(outcome: .undone, keptAt: place?.string)
        case .finished?: return AbortedSave(outcome: .finished, keptAt: nil)
        case .interrupted?, nil: return nil
        }
    }

    /// Stores that are not shown and have unsaved secrets.
    var unsavedRest: [ServedStore] {
        let all = stores.all
        return stores.withUnsavedRest.filter { rest in !all.contains { $0.name == rest.name } }
    }

    /// What is to be known of a store that is not shown; nil for one that is.
    func notShown(_ store: ServedStore) -> String? {
        guard !stores.all.contains(where: { $0.name == store.name }) else { return nil }
        return stores.hiddenNames.contains(store.name)
            ? "it is hidden in the mount: passdir store unhide \(ShellWord.quoted(store.name)) shows it again, "
                + "with its unsaved secrets"
            : "it is no longer configured: its unsaved secrets are retried until passdir unmount --discard-unsaved"
    }

    /// What of a store is not even saved, so that it cannot be in step, as one sentence without a full stop; nil when there is
    /// nothing.
    private func unsavedSentence(_ name: String) -> String? {
        let failed = filesystem.unsaved.filter { $0.store == name }
        if let first = failed.first {
            let reason = first.message.hasSuffix(".") ? String(first.message.dropLast()) : first.message
            let are = failed.count > 1 ? "and \(failed.count - 1) more are" : "is"
            return "\(first.path) \(are) not saved: \(reason)"
        }
        let written = filesystem.beingWritten(ofStore: name)
        guard let first = written.first else { return nil }
        let more = written.count > 1 ? ", as \(written.count - 1) more are" : ""
        return "\(first) is being written and not saved yet\(more): close it in the program that has it open"
    }
}

extension ServedStore {
    /// What went wrong with each store, and what became of a choice.
    static func synchronize(
        _ wanted: [ServedStore], _ choice: HistoryChoice?
    ) -> [(complaint: String?, chosen: [String])] {
        let calls = wanted.map { store in
            ActorCall { () async -> (complaint: String?, chosen: [String]) in
                guard let committer = store.committer else {
                    return (store.failure ?? "the store could not be opened", [])
                }
                guard let choice else { return (await committer.synchronizeNow(looking: true), []) }
                return await committer.synchronizeNow(choosing: choice)
            }
        }
        return calls.map { $0.value() }
    }

    /// How many conflict files merges have made since it is served.
    var conflictCount: Int { committer?.keptTwice.count ?? 0 }

    /// The secrets that a merge has left encrypted to others than their recipients, as the mount shows them.
    var drift: [String] { committer?.drift.map { (store?.visiblePath(of: $0) ?? $0).string } ?? [] }

    /// Those that merges have made since there were so many, as the mount shows them.
    func conflicts(after count: Int) -> [String] {
        committer?.keptTwice.dropFirst(count).map { (store?.visiblePath(of: $0) ?? $0).string } ?? []
    }
}
