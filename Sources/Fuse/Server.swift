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
        initialized.store(true, ordering: .releasing)
    }

    /// Answers a request on the thread that received it.
    func answer(_ raw: fuse_req_t, _ operation: () throws(Errno) -> Answer) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        reply(to: request, Result { () throws(Errno) in try operation() })
    }

    /// As `answer`, of an operation that does not wait here for what takes long: its answer comes later.
    func answerNowOrLater(_ raw: fuse_req_t, _ operation: (Caller) throws(Errno) -> Reply<Answer>) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        do throws(Errno) {
            switch try operation(request.caller) {
            case .now(let answer): reply(to: request, .success(answer))
            case .later(let later):
                pending.withLock { $0[ObjectIdentifier(request.caller)] = request.caller }
                later.whenGiven { self.complete(request, $0) }
            }
        } catch {
            reply(to: request, .failure(error))
        }
    }

    /// Answers a request on a worker, where it may block, or later where the operation gives its worker up while it waits.
    /// `operation` holds copies of all that libfuse passed.
    ///
    /// - Parameter evenForTheKilled: run the operation though its caller was killed while it waited for a worker.
    func answerWhenReady(
        _ raw: fuse_req_t, evenForTheKilled: Bool,
        _ operation: @escaping @Sendable (Caller) throws(Errno) -> Reply<Answer>
    ) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        pending.withLock { $0[ObjectIdentifier(request.caller)] = request.caller }
        let queued = QueuedRequest(request.caller) { self.complete(request, .failure(.interrupted)) }
        if !evenForTheKilled { queued.watch() }
        workers.submit {
            guard queued.take() else { return }
            do throws(Errno) {
                switch try operation(request.caller) {
                case .now(let answer): self.complete(request, .success(answer))
                case .later(let reply): reply.whenGiven { self.complete(request, $0) }
                }
            } catch {
                self.complete(request, .failure(error))
            }
        }
    }

    private func complete(_ request: Request, _ result: Result<Answer, Errno>) {
        reply(to: request, result)
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

    /// Answers a readdirplus with the entries that `operation` hands to the closure it gets, as far as there is room.
    func answerEntries(
        _ raw: fuse_req_t, room: Int,
        _ operation: ((ListedEntry, Entry?, Int64) -> Bool) throws(Errno) -> Void
    ) {
        let request = Request(raw, interruptWorkers: interruptWorkers)
        var buffer = DirectoryBuffer(byteCount: room, request: raw)
        do throws(Errno) {
            try operation { buffer.add($0, $1, nextOffset: $2) }
        } catch {
            for entry in buffer.entries { filesystem.takeBack(entry) }
            return request.fail(error)
        }
        if !buffer.withBytes({ request.send(bytes: $0) }) {
            for entry in buffer.entries { filesystem.takeBack(entry) }
        }
    }

    /// The kernel, or nobody any more, holds the handle.
    func release(_ handle: OpenHandles.Handle, _ flags: OpenFlags) {
        openHandles.remove(handle)
        filesystem.release(handle, flags)
    }

    /// Ends all work: nobody can receive an answer any more, so whoever still waits for one is told.
    func finish() {
        for caller in pending.withLock({ Array($0.values) }) { caller.abandon() }
        workers.finish()
        pending.waiting { pending, _ in pending.isEmpty ? .done(()) : .wait(until: nil) }
        interruptWorkers.finish()
        openHandles.releaseAll(in: filesystem)
        filesystem.unmounted()
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
