import Glibc
import Synchronization
import System

/// A reader that was looked at, and the handle by which it is known again.
final class KnownReader: Sendable {
    let reader: Reader
    private let folder: ProcessFolder?
    private let fingerprint: String?
    /// What was decided for it by rules of which generation, by the place of the rules.
    let decisions = Mutex<(generation: Int, byPlace: [String: Decision])>((0, [:]))

    init(_ thread: Int32) {
        folder = ProcessFolder(thread)
        // Before the look: what replaces it meanwhile is then another one.
        fingerprint = folder?.targetFacts(of: "exe").map(Program.fingerprint)
        reader = Reader(ofThread: thread)
    }

    /// Whether the thread still is one of the same process, and runs the same program.
    var isStillThere: Bool {
        guard folder != nil, let fingerprint else { return false }
        return folder?.targetFacts(of: "exe").map(Program.fingerprint) == fingerprint
    }
}

/// The readers that were looked at last: a program that opens many secrets is looked at once.
///
/// What a process comes from is what it came from at the first look: one that lets go of its parents later gains nothing.
final class KnownReaders: Sendable {
    private static let limit = 64
    private let known = Mutex<(readers: [Int32: KnownReader], order: [Int32])>(([:], []))

    /// The reader behind a thread's id, as the kernel tells it with a request; 0 for one that cannot be seen.
    func find(_ thread: Int32) -> KnownReader {
        if let found = known.withLock({ $0.readers[thread] }), found.isStillThere { return found }
        let fresh = KnownReader(thread)
        let gone: [KnownReader] = known.withLock { state in
            var gone = [state.readers.updateValue(fresh, forKey: thread)].compactMap(\.self)
            state.order.removeAll { $0 == thread }
            state.order.append(thread)
            while state.order.count > Self.limit {
                gone += [state.readers.removeValue(forKey: state.order.removeFirst())].compactMap(\.self)
            }
            return gone
        }
        // Their descriptors are closed outside the lock.
        _ = consume gone
        return fresh
    }
}
