import FoundationEssentials
import Mount
import Stores

/// What could not be saved until the daemon ended. Its text is gone; which secrets it was of is remembered, and told until
/// somebody acknowledges it with `passdir discard`.
extension ServedStore {
    /// The name of the fact: LostReports as JSON.
    private static let lostFact = "lost"

    /// The secrets whose text was lost, in the order of their paths.
    var lost: [LostReport] { Self.lost(inFact: store?.fact(Self.lostFact)) }

    /// As `lost`, of a store by its identifier.
    static func lost(ofStore identifier: String, in learned: LearnedState) -> [LostReport] {
        lost(inFact: learned.fact(lostFact, of: identifier))
    }

    private static func lost(inFact text: String?) -> [LostReport] {
        text.flatMap { try? JSONDecoder().decode([LostReport].self, from: Data($0.utf8)) } ?? []
    }

    /// Remembers secrets that end with this process.
    func noteLost(_ secrets: [UnsavedSecret]) {
        let now = Timestamp.now()
        let new = secrets.map { LostReport(path: $0.path, error: $0.message, time: now) }
        let paths = Set(new.map(\.path))
        rememberLost(lost.filter { !paths.contains($0.path) } + new)
    }

    /// Forgets what was lost of a path as the mount shows it; nil: all.
    /// - Returns: the paths that it was of.
    func forgetLost(_ path: String?) -> [String] {
        let (gone, rest) = lost.reduce(into: ([LostReport](), [LostReport]())) { parts, one in
            if path == nil || one.path == path { parts.0.append(one) } else { parts.1.append(one) }
        }
        if !gone.isEmpty { rememberLost(rest) }
        return gone.map(\.path)
    }

    private func rememberLost(_ secrets: [LostReport]) {
        let sorted = secrets.sorted { $0.path < $1.path }
        let text = (try? JSONEncoder().encode(sorted)).map { String(decoding: $0, as: UTF8.self) }
        store?.remember(sorted.isEmpty ? nil : text, as: Self.lostFact)
    }
}
