import Synchronization
import SystemPackage

/// Why values could not be made when they were opened last: the sentences behind an errno that says little.
final class ValueSentences: Sendable {
    /// Beyond so many the one that is known the longest is forgotten.
    private static let limit = 256

    private let known = Mutex<[(path: FilePath, sentence: String)]>([])

    /// - Parameter path: below the control directory.
    func set(_ sentence: String?, for path: FilePath?) {
        guard let path else { return }
        known.withLock { known in
            known.removeAll { $0.path == path }
            if let sentence { known.append((path, sentence)) }
            if known.count > Self.limit { known.removeFirst() }
        }
    }

    /// What a secret has been found to lack tells something of it.
    func forget() { known.withLock { $0 = [] } }

    func of(_ path: FilePath?) -> String? {
        known.withLock { $0.first { $0.path == path }?.sentence }
    }
}
