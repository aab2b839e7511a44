import Dispatch
import Sync
import Synchronization

extension MountService {
    func synchronize(stores names: [String]?) throws(ControlError) -> [SyncReport] {
        let all = stores.all
        if let unknown = names?.first(where: { name in !all.contains { $0.name == name } }) {
            throw ControlError(.failed, "there is no store \"\(unknown)\" in the mount")
        }
        let wanted = all.filter { names?.contains($0.name) ?? true }
        let results = Complaints()
        let done = DispatchGroup()
        for store in wanted {
            guard let committer = store.committer else {
                results.note(store.failure ?? "the store could not be opened", of: store.name)
                continue
            }
            done.enter()
            let name = store.name
            Task {
                if let complaint = await committer.synchronizeNow() { results.note(complaint, of: name) }
                done.leave()
            }
        }
        done.wait()
        return wanted.map { store in SyncReport(name: store.name, error: results.complaint(of: store.name)) }
    }
}

/// What went wrong, by store.
private final class Complaints: Sendable {
    private let all = Mutex<[String: String]>([:])

    func note(_ complaint: String, of store: String) {
        all.withLock { $0[store] = complaint }
    }

    func complaint(of store: String) -> String? {
        all.withLock { $0[store] }
    }
}
