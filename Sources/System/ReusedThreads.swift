import SystemPackage

/// Threads that nobody joins: one that has done its work waits a moment for more, because to start a thread takes longer
/// than most of what is done on one.
///
/// Work never waits for other work: what comes while no thread is idle gets a new one.
final class ReusedThreads: Sendable {
    private struct State {
        /// Never more than there are threads that are idle or have just been started.
        var waiting: [PosixThread.Work] = []
        var free = 0
    }

    /// As long as a program that reads one secret after another takes from one to the next.
    static let shared = ReusedThreads(idleSeconds: 1) { (body) throws(Errno) in
        try PosixThread.startNew(named: "idle", body)
    }

    private let idleSeconds: Double
    private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(Errno) -> Void
    private let state = Monitor(State())

    /// - Parameter startThread: starts a thread, or throws EAGAIN.
    init(
        idleSeconds: Double,
        _ startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(Errno) -> Void
    ) {
        self.idleSeconds = idleSeconds
        self.startThread = startThread
    }

    /// Has the work done, and waits for nothing.
    func start(_ work: PosixThread.Work) throws(Errno) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            guard state.free < state.waiting.count else { return false }
            state.free += 1
            return true
        }
        guard mustStart else { return state.signal() }
        do throws(Errno) {
            // It takes what waits, and keeps nothing of it alive afterwards.
            try startThread { self.serve() }
        } catch {
            let isLeft = state.withLock { state in
                state.free -= 1
                guard let place = state.waiting.firstIndex(where: { $0 === work }) else { return false }
                state.waiting.remove(at: place)
                return true
            }
            // A thread that became idle meanwhile may have taken it.
            if isLeft { throw error }
        }
    }

    private func serve() {
        while let next = next() {
            next.run()
            state.withLock { $0.free += 1 }
        }
    }

    /// What to do next; nil when this thread is to end.
    private func next() -> PosixThread.Work? {
        state.waiting { state, timeIsOver in
            let isOver = state.waiting.isEmpty && timeIsOver
            guard isOver || !state.waiting.isEmpty else {
                return .wait(until: MonotonicTime(secondsFromNow: idleSeconds))
            }
            state.free -= 1
            return .done(isOver ? nil : state.waiting.removeFirst())
        }
    }
}
