import CFuse
import Synchronization
import SystemPackage

/// Who asked. All zero where the kernel itself asks, or when the asking process lives in another namespace.
public struct Caller: Sendable {
    /// The effective user.
    public var userID: UInt32
    /// The effective group.
    public var groupID: UInt32
    /// The thread's id, which for a process of one thread is the process id.
    public var processID: Int32
    /// The umask; the kernel has applied it to the permissions of what is made already.
    public var umask: UInt16
}

/// One question of the kernel while it is being answered. It says who asked, and whether the one who asked still
/// wants the answer.
///
/// libfuse keeps its `fuse_req_t` until the reply. An interrupt calls our function on a receiving thread, with the
/// request's own lock held; a reply frees the request without that lock, so it may overtake a call that has begun.
/// Therefore the function is unregistered before each reply, which takes the lock and so waits for such a call, and
/// only then is the reference that libfuse had let go.
public final class Request: Sendable {
    private struct State {
        var isInterrupted = false
        var isAbandoned = false
        var isAnswered = false
        var body: (@Sendable () -> Void)?
    }

    /// Who asked.
    public let caller: Caller

    // The pointer is used by the one thread that answers; libfuse guards what lies behind it.
    nonisolated(unsafe) let raw: fuse_req_t
    private let interruptWorkers: WorkerPool
    private let state = Mutex(State())

    init(_ raw: fuse_req_t, interruptWorkers: WorkerPool) {
        self.raw = raw
        self.interruptWorkers = interruptWorkers
        if let context = fuse_req_ctx(raw)?.pointee {
            caller = Caller(
                userID: context.uid, groupID: context.gid, processID: context.pid,
                umask: UInt16(context.umask & 0o7777))
        } else {
            caller = Caller(userID: 0, groupID: 0, processID: 0, umask: 0)
        }
        fuse_req_interrupt_func(
            raw,
            { _, data in
                guard let data else { return }
                Unmanaged<Request>.fromOpaque(data).takeUnretainedValue().interrupt()
            }, Unmanaged.passRetained(self).toOpaque())
    }

    /// Whether the caller was sent a signal, any signal, or the mount is gone. It still waits for an answer, which is
    /// `.interrupted` where that is what the signal is for; see `pendingSignals`.
    public var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// Whether nobody can receive an answer any more: the mount is gone.
    public var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// What the signals that wait for the caller at this moment say about its wait.
    public var pendingSignals: PendingSignals { PendingSignals(ofThread: caller.processID) }

    /// Has `body` run when the caller is interrupted (or the mount is gone): once, on another thread, without
    /// delay if that has happened already. One body at a time: a second replaces the first. It is let go when the
    /// request is answered, but may be running at that moment.
    public func onInterrupt(_ body: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            guard !state.isAnswered else { return false }
            state.body = body
            return state.isInterrupted
        }
        if isDue { runBody() }
    }

    /// Called by libfuse with the request's lock held, hence nothing of the consumer's runs in here.
    func interrupt() {
        let isDue = state.withLock { state in
            guard !state.isAnswered, !state.isInterrupted else { return false }
            state.isInterrupted = true
            return state.body != nil
        }
        if isDue { runBody() }
    }

    /// Tells that the mount is gone.
    func abandon() {
        let isDue = state.withLock { state in
            guard !state.isAnswered, !state.isAbandoned else { return false }
            state.isAbandoned = true
            state.isInterrupted = true
            return state.body != nil
        }
        if isDue { runBody() }
    }

    private func runBody() {
        interruptWorkers.submit {
            let body = self.state.withLock { state in
                let body = state.body
                state.body = nil
                return body
            }
            body?()
        }
    }

    /// Ends interrupts; exactly once, directly before the reply, which frees `raw`.
    func close() {
        let body = state.withLock { state in
            precondition(!state.isAnswered, "a request is answered exactly once")
            state.isAnswered = true
            let body = state.body
            state.body = nil
            return body
        }
        // Outside the lock: letting go of the body may run the consumer's deinitializers.
        _ = consume body
        fuse_req_interrupt_func(raw, nil, nil)
        Unmanaged.passUnretained(self).release()
    }
}
