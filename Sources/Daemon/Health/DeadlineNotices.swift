import Glibc
import Settings
import Stores
import Sync
import System
import SystemPackage

/// Tells on the desktop, once for each, of passwords that expire or are due soon, by what `passdir health` saw last. Nothing is
/// decrypted; a secret that was saved since is passed over.
struct DeadlineNotices: Sendable {
    /// So many are named in one notice.
    private static let mostNamed = 5

    let configuration: Configuration
    let learned: LearnedState?

    /// Looks at the stores that are shown.
    func tell(_ stores: [ServedStore]) {
        guard let learned, (try? configuration.value(Catalogue.healthNotify)) == true else { return }
        for store in stores.compactMap(\.store) { tell(store, learned) }
    }

    private func tell(_ store: Store, _ learned: LearnedState) {
        let all =
            HealthMemory.read(store.fact(HealthMemory.deadlines), [HealthMemory.Deadline].self) ?? []
        var told = HealthMemory.read(store.fact(HealthMemory.told), [String: String].self) ?? [:]
        let now = Int64(time(nil))
        let soon = all.filter { deadline in
            guard let end = CalendarDay(deadline.day)?.end, end - now < HealthReport.soon,
                told[deadline.path] != deadline.day
            else { return false }
            return store.stamp(of: FilePath(deadline.path)) == deadline.stamp
        }
        guard !soon.isEmpty else { return }
        for deadline in soon { told[deadline.path] = deadline.day }
        let paths = Set(all.map(\.path))
        store.remember(HealthMemory.text(told.filter { paths.contains($0.key) }), as: HealthMemory.told)
        DesktopNotification.show("passdir: \(store.name)", sentence(soon, store, now))
    }

    private func sentence(_ soon: [HealthMemory.Deadline], _ store: Store, _ now: Int64) -> String {
        let named = soon.sorted { ($0.day, $0.path) < ($1.day, $1.path) }.prefix(Self.mostNamed).map { one in
            let isOver = CalendarDay(one.day).map { $0.end <= now } ?? false
            let verb =
                one.expires
                ? (isOver ? "expired on" : "expires on")
                : isOver ? "was to be changed by" : "is to be changed by"
            return "\(store.visiblePath(of: FilePath(one.path))) \(verb) \(one.day)"
        }
        let rest = soon.count - named.count
        return named.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
            + ": passdir health \(ShellWord.quoted(store.name)) lists all"
    }
}
