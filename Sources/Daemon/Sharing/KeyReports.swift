/// The keys that lists name, each once, in the order in which they are named. Lists that others push name any number.
struct KeyReports {
    private struct Identity: Hashable {
        let id: String
        let fingerprint: String?
    }

    private(set) var all: [KeyReport] = []
    private var places: [Identity: Int] = [:]

    /// - Parameter folder: whose list names the key; the lists are gone through one after the other.
    mutating func add(_ report: KeyReport, namedIn folder: String) {
        let identity = Identity(id: report.id, fingerprint: report.fingerprint)
        guard let place = places[identity] else {
            places[identity] = all.count
            var report = report
            report.folders = [folder]
            return all.append(report)
        }
        if all[place].folders.last != folder { all[place].folders.append(folder) }
    }
}
