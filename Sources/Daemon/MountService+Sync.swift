import Dispatch
import Sync
import Synchronization

extension MountService {
    func synchronize(
        stores names: [String]?, choosing choice: HistoryChoice?
    ) throws(ControlError) -> [SyncReport] {
        if choice != nil, names?.count != 1 {
            throw ControlError(.failed, "which history goes on is chosen for one store at a time; name it")
        }
        let all = stores.all
        if let unknown = names?.first(where: { name in !all.contains { $0.name == name } }) {
            throw ControlError(.failed, "there is no store \"\(unknown)\" in the mount")
        }
        let wanted = all.filter { names?.contains($0.name) ?? true }
        let results = Results()
        let done = DispatchGroup()
        for store in wanted {
            guard let committer = store.committer else {
                results.note(store.failure ?? "the store could not be opened", of: store.name)
                continue
            }
            done.enter()
            let name = store.name
            Task {
                if let choice {
                    let (complaint, chosen) = await committer.synchronizeNow(choosing: choice)
                    if let complaint { results.note(complaint, of: name) }
                    results.note(chosen: chosen, of: name)
                } else if let complaint = await committer.synchronizeNow() {
                    results.note(complaint, of: name)
                }
                done.leave()
            }
        }
        done.wait()
        return wanted.map { store in
            SyncReport(
                name: store.name, error: results.complaint(of: store.name),
                chosen: results.chosen(by: store.name)
            )
        }
    }
}

/// What went wrong, and what became of a choice, by store.
private final class Results: Sendable {
    private let all = Mutex<[String: String]>([:])
    private let choices = Mutex<[String: [String]]>([:])

    func note(chosen sentences: [String], of store: String) {
        choices.withLock { $0[store] = sentences }
    }

    func chosen(by store: String) -> [String] {
        choices.withLock { $0[store] ?? [] }
    }

    func note(_ complaint: String, of store: String) {
        all.withLock { $0[store] = complaint }
    }

    func complaint(of store: String) -> String? {
        all.withLock { $0[store] }
    }
}
