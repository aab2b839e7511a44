/// Does pieces of work one after another, each not before its time, on a thread that it has while there is something to do.
///
/// As a dispatch queue does. But libdispatch keeps the block of each piece for the next one, a thousand for each of its threads, all
/// over the heap, and the page of each stays in use: in an hour of saves the daemon grew by megabytes of which hardly anything was
/// used.
public final class TimedWork: Sendable {
    private struct Piece {
        var time: MonotonicTime
        var body: @Sendable () -> Void
    }

    private struct State {
        /// In the order of their times; those of one time in the order in which they came.
        var pieces: [Piece] = []
        var isRunning = false
    }

    private let name: String
    private let state = Monitor(State())

    /// - Parameter name: of its thread, as `ps -L` shows it; the kernel keeps 15 bytes.
    public init(named name: String) { self.name = name }

    /// Has `body` run once so much time has passed, in its turn; returns at once. Where the system has no thread to give, that waits.
    public func start(after pause: Duration = .zero, _ body: @escaping @Sendable () -> Void) {
        let piece = Piece(time: MonotonicTime(secondsFromNow: pause / .seconds(1)), body: body)
        let (isFirst, mustStart) = state.withLock { state in
            let place = state.pieces.lastIndex { $0.time <= piece.time }.map { $0 + 1 } ?? 0
            state.pieces.insert(piece, at: place)
            defer { state.isRunning = true }
            return (place == 0, !state.isRunning)
        }
        if mustStart {
            PosixThread.startWhenPossible(named: name) { self.serve() }
        } else if isFirst {
            state.signal()
        }
    }

    /// Returns when what is to be done by now is done. Not to be called by a piece of this work.
    public func wait() {
        let isDone = Monitor(false)
        start {
            isDone.withLock { $0 = true }
            isDone.signal()
        }
        isDone.waiting { isDone, _ in isDone ? .done(()) : .wait(until: nil) }
    }

    private func serve() {
        while let body = next() { body() }
    }

    /// What to do next, when its time has come; nil when there is nothing any more.
    private func next() -> (@Sendable () -> Void)? {
        state.waiting { state, _ in
            guard let time = state.pieces.first?.time else {
                state.isRunning = false
                return .done(nil)
            }
            guard time <= .now else { return .wait(until: time) }
            return .done(state.pieces.removeFirst().body)
        }
    }
}
