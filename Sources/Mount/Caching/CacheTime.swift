import Synchronization

/// `cache.time`: how long contents are kept that nobody has open any more. It may change while they are.
final class CacheTime: Sendable {
    private let state: Mutex<Duration>

    init(_ time: Duration) { state = Mutex(time) }

    var value: Duration { state.withLock(\.self) }

    /// - Returns: whether it is shorter now, so that what is kept is to be forgotten.
    func change(to time: Duration) -> Bool {
        state.withLock { known in
            defer { known = time }
            return time < known
        }
    }
}
