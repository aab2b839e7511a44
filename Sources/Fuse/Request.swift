import CFuse

/// One question of the kernel while it is being answered.
///
/// libfuse keeps its `fuse_req_t` until the reply. An interrupt calls our function on a receiving thread, with the
/// request's own lock held; a reply frees the request without that lock, so it may overtake a call that has begun.
/// Therefore the function is unregistered before each reply, which takes the lock and so waits for such a call, and
/// only then is the reference that libfuse had let go.
// Sendable because the pointer is used by the one thread that answers; libfuse guards what lies behind it.
struct Request: @unchecked Sendable {
    /// Who asked.
    let caller: Caller
    let raw: fuse_req_t

    init(_ raw: fuse_req_t, interruptWorkers: WorkerPool) {
        self.raw = raw
        let context = fuse_req_ctx(raw)?.pointee ?? fuse_ctx()
        // libfuse calls with the request's lock held, hence nothing of the consumer's runs in there.
        caller = Caller(userID: context.uid, groupID: context.gid, processID: context.pid) {
            interruptWorkers.submit($0)
        }
        fuse_req_interrupt_func(
            raw,
            { _, data in
                guard let data else { return }
                Unmanaged<Caller>.fromOpaque(data).takeUnretainedValue().interrupt()
            }, Unmanaged.passRetained(caller).toOpaque())
    }

    /// The thread that asks, of a question that is answered at once.
    static func thread(of raw: fuse_req_t) -> Int32 { fuse_req_ctx(raw)?.pointee.pid ?? 0 }

    /// Ends interrupts; exactly once, directly before the reply, which frees `raw`.
    func close() {
        caller.end()
        fuse_req_interrupt_func(raw, nil, nil)
        Unmanaged.passUnretained(caller).release()
    }
}
