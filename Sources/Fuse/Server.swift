import CFuse
import Glibc
import Synchronization
import System
import SystemPackage

/// What serves the requests of one session: libfuse's callbacks find it as their user data.
final class Server: Sendable {
    let filesystem: any Filesystem
    let options: SessionOptions
    /// Where requests wait that may block.
    let workers: WorkerPool
    /// Who may have one of them.
    private let lanes: RequestLanes
    /// Interrupts have threads of their own: they must get through when all workers wait.
    let interruptWorkers: WorkerPool
    let openHandles = OpenHandles()
    /// What is not answered yet, but for what the receiving threads answer at once.
    private let pending = Monitor<[ObjectIdentifier: Caller]>([:])
    private let initialized = Atomic(false)
    private let ended = Atomic(false)

    init(_ filesystem: any Filesystem, _ options: SessionOptions) {
        self.filesystem = filesystem
        self.options = options
        workers = WorkerPool(limit: options.workerLimit, idleSeconds: options.idleSeconds)
        lanes = RequestLanes(workers: workers)
        interruptWorkers = WorkerPool(limit: 4, idleSeconds: options.idleSeconds)
    }

    /// Whether the kernel has introduced itself.
    var isInitialized: Bool { initialized.load(ordering: .acquiring) }
    /// Whether the kernel has let go of the session: unmounted, or aborted.
    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    func kernelHasEnded() { ended.store(true, ordering: .releasing) }

    /// Agrees with the kernel on what both can do.
    func initialize(_ connection: inout fuse_conn_info) {
        func bit(_ value: some BinaryInteger) -> UInt32 { UInt32(truncatingIfNeeded: value) }
        // A splice would move plaintext through pipes, whose pages nobody wipes. Errors of writes must come back to
        // write(2), so no writeback cache. Locks are the kernel's own.
        let unwanted =
            bit(FUSE_CAP_SPLICE_READ) | bit(FUSE_CAP_SPLICE_WRITE) | bit(FUSE_CAP_SPLICE_MOVE)
            | bit(FUSE_CAP_WRITEBACK_CACHE) | bit(FUSE_CAP_POSIX_LOCKS) | bit(FUSE_CAP_FLOCK_LOCKS)
            | bit(FUSE_CAP_HANDLE_KILLPRIV)
        let wanted =
            bit(FUSE_CAP_ATOMIC_O_TRUNC) | bit(FUSE_CAP_AUTO_INVAL_DATA) | bit(FUSE_CAP_PARALLEL_DIROPS)
            | bit(FUSE_CAP_READDIRPLUS) | bit(FUSE_CAP_READDIRPLUS_AUTO)
        connection.want &= ~unwanted
        connection.want |= connection.capable & wanted
        connection.max_write = UInt32(options.maximumWrite)
        // The kernel holds back what nobody waits for (read-ahead, the end of an open file) while so many of it are unanswered,
        // in all of the mount: 12, unless told otherwise.
        connection.max_background = UInt32(options.workerLimit)
        initialized.store(true, ordering: .releasing)
    }

    /// Answers a request on the thread that received it.
    func answer(_ raw: fuse_req_t, _ operation: () throws(Errno) -> Answer) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        reply(to: request, Result { () throws(Errno) in try operation() })
    }

    /// Answers a request that looks at names or files: on the thread that received it where no other look goes on in the same
    /// lane, as most take no time, else on a worker. `operation` holds copies of all that libfuse passed.
    func look(
        _ raw: fuse_req_t, at inode: InodeNumber,
        _ operation: @escaping @Sendable (Caller) throws(Errno) -> Reply<Answer>
    ) {
        look(raw, at: inode) { request in self.perform(operation, of: request) }
    }

    /// As above, with a `body` that answers the request itself, and calls `settle` then.
    private func look(
        _ raw: fuse_req_t, at inode: InodeNumber, answering body: @escaping @Sendable (Request) -> Void
    ) {
        guard let lane = filesystem.lane(of: inode) else { return body(register(raw)) }
        if lanes.alone(lane, .look, { body(register(raw)) }) != nil { return }
        queue(register(raw), lane, .look, body)
    }

    /// What `operation` answers if it waits for nothing; nil where it may, and where others look in the same lane.
    func atOnce<Value>(_ inode: InodeNumber, _ operation: () -> Value?) -> Value? {
        guard let lane = filesystem.lane(of: inode) else { return operation() }
        return lanes.alone(lane, .look, operation) ?? nil
    }

    /// Answers a request on a worker, where it may block, or later where the operation gives its worker up while it waits.
    /// `operation` holds copies of all that libfuse passed.
    ///
    /// - Parameters:
    ///   - inode: in whose lane it waits.
    ///   - evenForTheKilled: run the operation though its caller was killed while it waited for a worker.
    func answerWhenReady(
        _ raw: fuse_req_t, at inode: InodeNumber, evenForTheKilled: Bool,
        _ operation: @escaping @Sendable (Caller) throws(Errno) -> Reply<Answer>
    ) {
        queue(register(raw), filesystem.lane(of: inode), .work, evenForTheKilled: evenForTheKilled) {
            request in
            self.perform(operation, of: request)
        }
    }

    /// It is not answered yet.
    private func register(_ raw: fuse_req_t) -> Request {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        pending.withLock { $0[ObjectIdentifier(request.caller)] = request.caller }
        return request
    }

    private func queue(
        _ request: Request, _ lane: RequestLane?, _ sort: RequestLanes.Sort, evenForTheKilled: Bool = false,
        _ body: @escaping @Sendable (Request) -> Void
    ) {
        let queued = QueuedRequest(request.caller) { self.complete(request, .failure(.interrupted)) }
        if !evenForTheKilled { queued.watch() }
        let job: WorkerPool.Job = { if queued.take() { body(request) } }
        if let lane { lanes.submit(lane, sort, job) } else { workers.submit(job) }
    }

    private func perform(_ operation: (Caller) throws(Errno) -> Reply<Answer>, of request: Request) {
        do throws(Errno) {
            switch try operation(request.caller) {
            case .now(let answer): complete(request, .success(answer))
            case .later(let reply): reply.whenGiven { self.complete(request, $0) }
            }
        } catch {
            complete(request, .failure(error))
        }
    }

    private func complete(_ request: Request, _ result: Result<Answer, Errno>) {
        reply(to: request, result)
        settle(request)
    }

    /// It was answered.
    private func settle(_ request: Request) {
        let isLast = pending.withLock { pending in
            pending[ObjectIdentifier(request.caller)] = nil
            return pending.isEmpty
        }
        if isLast { pending.broadcast() }
    }

    private func reply(to request: Request, _ result: Result<Answer, Errno>) {
        switch result {
        case .success(let answer): request.send(answer, from: self)
        case .failure(let error): request.fail(error)
        }
    }

    /// Answers a read with the bytes that `operation` hands to the closure it gets.
    func answerRead(
        _ raw: fuse_req_t, _ operation: ((UnsafeRawBufferPointer) -> Void) throws(Errno) -> Void
    ) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        var isAnswered = false
        var failure = Errno.ioError
        do throws(Errno) {
            try operation { bytes in
                precondition(!isAnswered, "a read replies exactly once")
                isAnswered = true
                request.send(bytes: bytes)
            }
        } catch {
            failure = error
        }
        if !isAnswered { request.fail(failure) }
    }

    /// Answers a readdir with the entries that `operation` hands to the closure it gets, as far as there is room.
    func answerListing(
        _ raw: fuse_req_t, of inode: InodeNumber, room: Int,
        _ operation: @escaping @Sendable ((ListedEntry, Int64) -> Bool) throws(Errno) -> Void
    ) {
        look(raw, at: inode) { request in
            defer { self.settle(request) }
            var buffer = DirectoryBuffer(byteCount: room, request: request.raw)
            do throws(Errno) {
                try operation { buffer.add($0, nextOffset: $1) }
            } catch {
                return request.fail(error)
            }
            buffer.withBytes { _ = request.send(bytes: $0) }
        }
    }

    /// As `answerListing`, of a readdirplus.
    func answerEntries(
        _ raw: fuse_req_t, of inode: InodeNumber, room: Int,
        _ operation: @escaping @Sendable ((ListedEntry, Entry?, Int64) -> Bool) throws(Errno) -> Void
    ) {
        look(raw, at: inode) { request in
            defer { self.settle(request) }
            var buffer = DirectoryBuffer(byteCount: room, request: request.raw)
            do throws(Errno) {
                try operation { buffer.add($0, $1, nextOffset: $2) }
            } catch {
                for entry in buffer.entries { self.filesystem.takeBack(entry) }
                return request.fail(error)
            }
            if !buffer.withBytes({ request.send(bytes: $0) }) {
                for entry in buffer.entries { self.filesystem.takeBack(entry) }
            }
        }
    }

    /// The kernel, or nobody any more, holds the handle.
    func release(_ handle: OpenHandles.Handle, _ flags: OpenFlags) {
        openHandles.remove(handle)
        filesystem.release(handle, flags)
    }

    /// Ends all work: nobody can receive an answer any more, so whoever still waits for one is told.
    /// - Returns: false where some of it goes on, as `SessionOptions.endPatience` is over: it may still answer.
    func finish() -> Bool {
        defer { filesystem.unmounted() }
        for caller in pending.withLock({ Array($0.values) }) { caller.abandon() }
        let deadline = options.endPatience.map { MonotonicTime(secondsFromNow: $0 / .seconds(1)) }
        guard workers.finish(until: deadline) else { return false }
        let isAnswered = pending.waiting { pending, timeIsOver in
            pending.isEmpty || timeIsOver ? .done(pending.isEmpty) : .wait(until: deadline)
        }
        guard isAnswered else { return false }
        interruptWorkers.finish()
        openHandles.releaseAll(in: filesystem)
        return true
    }
}

extension Server {
    static func of(_ request: fuse_req_t) -> Server {
        guard let data = fuse_req_userdata(request) else {
            fatalError("a session has its server as user data")
        }
        return Unmanaged<Server>.fromOpaque(data).takeUnretainedValue()
    }
}
