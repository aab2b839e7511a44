import System
import SystemPackage

/// The threads that receive requests: a few, and more while all of them are held by requests that they answer
/// themselves, as by a look-up on a disk that doesn't answer. There are `limit` at most.
///
/// There are twice as many once all have been held for `patience`: a crowd that looks at a disk that doesn't answer is
/// outnumbered within a few rounds. Whoever finds that enough others receive ends.
final class Receivers: Sendable {
    private struct State {
        var threads = 0
        /// How many of them wait for a request, so that the next one is served at once.
        var receiving = 0
        var isOver = false
        /// What is received from here on is not served.
        var isStopped = false
        var isServed: Bool { threads == 0 || isStopped && receiving == threads }
    }

    /// In all; each takes receive memory.
    static let limit = 256
    /// For how long all threads may be held before there are more, in seconds.
    static let patience = 0.02

    private let usual: [Receiver]
    private let newReceiver: @Sendable () -> Receiver?
    private let state = Monitor(State())

    /// - Parameters:
    ///   - usual: those that stay as long as the session.
    ///   - newReceiver: makes another one; nil where there is no memory for it.
    init(_ usual: [Receiver], newReceiver: @escaping @Sendable () -> Receiver?) {
        self.usual = usual
        self.newReceiver = newReceiver
    }

    /// Receives until the kernel ends the session, the device fails, or `stop`: then those that wait for a request are left
    /// behind, as nothing wakes them but that.
    func run() {
        // One that cannot be had is missed by nobody: the others receive what it would.
        var isStarted = false
        for receiver in usual {
            do throws(Errno) {
                try start(receiver, isUsual: true)
                isStarted = true
            } catch {
                continue
            }
        }
        let watch = try? PosixThread(named: "fuse watch", stackByteCount: WorkerPool.stackByteCount) {
            self.watch()
        }
        if !isStarted {
            state.withLock { state in
                state.threads += 1
                state.receiving += 1
            }
            receive(usual[0], isUsual: true)
        }
        state.waiting { state, _ in state.isServed ? .done(()) : .wait(until: nil) }
        state.withLock { $0.isOver = true }
        state.broadcast()
        watch?.join()
    }

    /// Ends `run` when all that was received is served, though the kernel has not let go of the session.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.broadcast()
    }

    /// A receiver has a request to serve, and receives none meanwhile.
    /// - Returns: false where it is not to be served.
    func begin() -> Bool {
        let (isServed, areAllHeld) = state.withLock { state in
            guard !state.isStopped else { return (false, false) }
            state.receiving -= 1
            return (true, state.receiving == 0)
        }
        if areAllHeld { state.broadcast() }
        return isServed
    }

    /// It has served the request.
    func end() {
        let isStopped = state.withLock { state in
            state.receiving += 1
            return state.isStopped
        }
        if isStopped { state.broadcast() }
    }

    private func start(_ receiver: Receiver, isUsual: Bool) throws(Errno) {
        state.withLock { state in
            state.threads += 1
            state.receiving += 1
        }
        do throws(Errno) {
            try PosixThread.start(named: "fuse receiver", stackByteCount: WorkerPool.stackByteCount) {
                self.receive(receiver, isUsual: isUsual)
            }
        } catch {
            leave()
            throw error
        }
    }

    private func receive(_ receiver: Receiver, isUsual: Bool) {
        receiver.run(in: self, while: { isUsual || self.isNeeded })
        leave()
    }

    private var isNeeded: Bool {
        state.withLock { $0.receiving <= usual.count }
    }

    private func leave() {
        state.withLock { state in
            state.threads -= 1
            state.receiving -= 1
        }
        state.broadcast()
    }

    /// Starts as many receivers again whenever all have been held for a while.
    private func watch() {
        while true {
            let isOver = state.waiting { state, _ in
                if state.isOver { return .done(true) }
                return state.receiving == 0 && state.threads > 0 ? .done(false) : .wait(until: nil)
            }
            if isOver { return }
            let end = MonotonicTime(secondsFromNow: Self.patience)
            let missing = state.waiting { state, timeIsOver in
                if state.isOver || state.receiving > 0 { return .done(0) }
                return timeIsOver
                    ? .done(min(state.threads, Self.limit - state.threads)) : .wait(until: end)
            }
            for _ in 0..<missing {
                guard let receiver = newReceiver() else { break }
                try? start(receiver, isUsual: false)
            }
        }
    }
}
