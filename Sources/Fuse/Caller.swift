import Synchronization

/// Who asks for something, and whether it still waits for the answer. It knows nothing of libfuse: whoever calls the
/// operations of a `Filesystem` in process makes one itself.
public final class Caller: Sendable {
    private struct State {
        var isInterrupted = false
        var isAbandoned = false
        var isAnswered = false
        var body: (@Sendable () -> Void)?
    }

    /// The effective user; zero, as the group and the process, where the kernel itself asks, or when the asking process
    /// lives in another namespace.
    public let userID: UInt32
    /// The effective group.
    public let groupID: UInt32
    /// The thread's id, which for a process of one thread is the process id.
    public let processID: Int32

    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())

    /// - Parameter run: runs what an interruption is to do; not on a thread that must not wait.
    public init(
        userID: UInt32 = 0, groupID: UInt32 = 0, processID: Int32 = 0,
        run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        self.userID = userID
        self.groupID = groupID
        self.processID = processID
        self.run = run
    }

    /// Whether the caller was sent a signal, any signal, or the mount is gone. It still waits for an answer, which is
    /// `.interrupted` where that is what the signal is for; see `pendingSignals`.
    public var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// Whether nobody can receive an answer any more: the mount is gone.
    public var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// What the signals that wait for the caller at this moment say about its wait.
    public var pendingSignals: PendingSignals { PendingSignals(ofThread: processID) }

    /// Has `body` run when the caller is interrupted (or the mount is gone): once, without delay if that has happened
    /// already. One body at a time: a second replaces the first. It is let go when the caller is answered, but may be
    /// running at that moment.
    public func onInterrupt(_ body: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            guard !state.isAnswered else { return false }
            state.body = body
            return state.isInterrupted
        }
        if isDue { runBody() }
    }

    /// The caller was sent a signal.
    public func interrupt() { interrupt(isAbandoned: false) }

    /// The mount is gone.
    func abandon() { interrupt(isAbandoned: true) }

    private func interrupt(isAbandoned: Bool) {
        let isDue = state.withLock { state in
            guard !state.isAnswered, !(isAbandoned ? state.isAbandoned : state.isInterrupted) else {
                return false
            }
            state.isInterrupted = true
            if isAbandoned { state.isAbandoned = true }
            return state.body != nil
        }
        if isDue { runBody() }
    }

    private func runBody() {
        run {
            let body = self.state.withLock { state in
                let body = state.body
                state.body = nil
                return body
            }
            body?()
        }
    }

    /// Ends interrupts: it gets its answer, exactly once.
    func end() {
        let body = state.withLock { state in
            precondition(!state.isAnswered, "a request is answered exactly once")
            state.isAnswered = true
            let body = state.body
            state.body = nil
            return body
        }
        // Outside the lock: letting go of the body may run the consumer's deinitializers.
        _ = consume body
    }
}
