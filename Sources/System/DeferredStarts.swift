import SystemPackage

/// Thread starts that wait until the system has room for them, in the order in which they came.
///
/// They are tried again every tenth of a second, by a thread that was started while there was still one to be had, and
/// with every start that comes after them.
final class DeferredStarts: Sendable {
    private struct State {
        var waiting: [PosixThread.Work] = []
        var isPrepared = false

        /// Starts what waits, as far as that goes.
        mutating func proceed(_ start: (PosixThread.Work) throws(Errno) -> Void) {
            while let next = waiting.first {
                do throws(Errno) { try start(next) } catch { return }
                waiting.removeFirst()
            }
        }
    }

    static let shared = DeferredStarts { (start) throws(Errno) in
        try PosixThread.start(named: start.name, start.body)
    }

    private let state = Monitor(State())
    private let start: @Sendable (PosixThread.Work) throws(Errno) -> Void

    /// - Parameter start: starts a thread, or throws.
    init(_ start: @escaping @Sendable (PosixThread.Work) throws(Errno) -> Void) {
        self.start = start
    }

    func add(_ next: PosixThread.Work) {
        let mustWait = state.withLock { state in
            state.waiting.append(next)
            state.proceed(start)
            return !state.waiting.isEmpty
        }
        guard mustWait else { return }
        // Where there is no thread for this either, the next start tries again.
        try? prepare()
        state.signal()
    }

    /// Starts the thread that tries again.
    func prepare() throws(Errno) {
        try state.withLock { (state) throws(Errno) in
            guard !state.isPrepared else { return }
            try start(PosixThread.Work(name: "thread starter") { [self] in tryAgain() })
            state.isPrepared = true
        }
    }

    private func tryAgain() {
        let _: Never = state.waiting { state, _ in
            state.proceed(start)
            // Nothing tells when another process of this user has ended.
            return .wait(until: state.waiting.isEmpty ? nil : MonotonicTime(secondsFromNow: 0.1))
        }
    }
}
