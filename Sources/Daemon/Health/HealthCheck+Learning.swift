import Contents
import Glibc
import OpenPGP
import Stores
import Sync
import System
import SystemPackage

extension HealthCheck {
    /// A store that is looked at.
    struct KnownStore {
        let access: StoreAccess
        let history: StoreHistory?
        let ages: PasswordAge
    }

    /// A secret that was looked at, and what was seen.
    typealias Looked = (subject: Subject, look: HealthLook)

    /// Brings the lists of former readers up to date, and tells of them.
    /// - Returns: who still knows a secret, by its name.
    func review(
        _ stores: [KnownStore], _ looks: [Looked], _ report: inout HealthReport,
        _ cancellation: Cancellation?
    ) -> [String: [String]] {
        guard let learned = LearnedState.shared(environment) else { return [:] }
        defer { learned.close() }
        var exposed: [String: [String]] = [:]
        for known in stores {
            let store = known.access.store
            let text = learned.fact(FormerReaderList.fact, of: store.identifier)
            var list = FormerReaderList(fact: text)
            guard !list.readers.isEmpty else { continue }
            let present = Dictionary(
                looks.filter { $0.subject.place.store === store }.map {
                    ($0.subject.place.file, $0.look.wholeMark)
                }, uniquingKeysWith: { first, _ in first })
            FormerReaderCheck(
                store: store, history: known.history, ages: known.ages,
                present: depth == .names ? nil : present, marks: marks, budget: budget,
                cancellation: cancellation
            ).review(&list)
            guard cancellation?.isCancelled != true else { return [:] }
            learned.remember(list.text, as: FormerReaderList.fact, of: store.identifier)
            for reader in list.readers {
                let told = Self.told(reader, store)
                report.formerReaders.append(told)
                for name in told.exposed { exposed[name, default: []].append(told.title) }
            }
        }
        return exposed
    }

    private static func told(_ reader: FormerReader, _ store: Store) -> HealthReport.FormerReader {
        func name(_ secret: FormerReader.Secret) -> String {
            "\(store.name)/\(store.visiblePath(of: FilePath(secret.path)))"
        }
        // Whoever got it back is no former reader of it, until it is taken away again.
        let known = reader.secrets.filter { secret in
            guard !secret.isChanged, let ids = try? store.recipientKeyIDs(of: FilePath(secret.path)) else {
                return false
            }
            return !reader.canRead(ids)
        }
        let exposed = Set(known.map(name))
        return HealthReport.FormerReader(
            store: store.name, key: reader.key, name: reader.name,
            removed: reader.secrets.map(\.since).max() ?? 0, exposed: exposed.sorted(),
            rotated: Set(reader.secrets.filter(\.isChanged).map(name)).subtracting(exposed).sorted())
    }

    /// Keeps until when passwords serve, for the notices of a daemon. What was not read keeps what was known of it.
    func remember(_ stores: [KnownStore], _ looks: [Looked], _ report: HealthReport) {
        guard let learned = LearnedState.shared(environment) else { return }
        defer { learned.close() }
        let entries = Dictionary(
            report.entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for store in stores.map(\.access.store) {
            let looked = looks.filter { $0.subject.place.store === store }
            let files = Set(looked.map(\.subject.place.file.string))
            let text = learned.fact(HealthMemory.deadlines, of: store.identifier)
            let older = (HealthMemory.read(text, [HealthMemory.Deadline].self) ?? []).filter {
                !files.contains($0.path) && store.stamp(of: FilePath($0.path)) == $0.stamp
            }
            let new = looked.compactMap { subject, look in
                entries[subject.place.name].flatMap {
                    HealthMemory.Deadline($0, path: subject.place.file, stamp: look.stamp)
                }
            }
            let all = older + new
            learned.remember(
                all.isEmpty ? nil : HealthMemory.text(all), as: HealthMemory.deadlines, of: store.identifier)
        }
    }
}

extension HealthMemory.Deadline {
    /// The first of the two days that an entry may have; nil where it has none.
    fileprivate init?(_ entry: HealthReport.Entry, path: FilePath, stamp: String) {
        guard let (day, expires) = entry.deadline else { return nil }
        self.init(path: path.string, stamp: stamp, day: day.description, expires: expires)
    }
}
