import System
import SystemPackage

/// Threads for jobs that may block for long. One more starts whenever none is idle, up to `limit`; beyond that
/// jobs wait their turn. A thread without work for `idleSeconds` ends. No job is ever dropped.
public final class WorkerPool: Sendable {
    /// What is to be done.
    public typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job?] = []
        var next = 0
        var threads = 0
        var idle = 0
        var isClosing = false

        var waitingJobs: Int { jobs.count - next }

        mutating func takeJob() -> Job? {
            guard next < jobs.count else { return nil }
            let job = jobs[next]
            jobs[next] = nil
            next += 1
            if next == jobs.count {
                jobs.removeAll(keepingCapacity: next <= 1024)
                next = 0
            }
            return job
        }
    }

    /// Room enough for a file system's code; the memory is taken as it is touched.
    static let stackByteCount = 2 << 20

    private let limit: Int
    private let idleSeconds: Double
    private let state = Monitor(State())

    /// - Parameters:
    ///   - limit: how many threads there are at most.
    ///   - idleSeconds: after how long without work one ends.
    public init(limit: Int, idleSeconds: Double) {
        precondition(limit > 0, "a pool of no threads runs nothing")
        self.limit = limit
        self.idleSeconds = idleSeconds
    }

    /// How many threads there are at this moment.
    var threadCount: Int { state.withLock { $0.threads } }

    /// Runs `job` on a thread of the pool, soon. Only when the system gives not even a first thread does it run
    /// here, before this returns.
    public func submit(_ job: @escaping Job) {
        let orphan: Job? = state.withLock { pool in
            pool.jobs.append(job)
            if pool.idle >= pool.waitingJobs {
                state.signal()
            } else if pool.threads < limit {
                pool.threads += 1
                do throws(Errno) {
                    try PosixThread.start(named: "fuse worker", stackByteCount: Self.stackByteCount) {
                        self.work()
                    }
                } catch {
                    pool.threads -= 1
                    if pool.threads == 0 { return pool.takeJob() }
                }
            }
            return nil
        }
        orphan?()
    }

    /// Waits until every job has run and every thread has ended. Meanwhile only jobs may submit jobs.
    func finish() { _ = finish(until: nil) }

    /// As above, but no longer than until `deadline`; what has not ended then goes on all the same.
    /// - Returns: whether all have ended.
    func finish(until deadline: MonotonicTime?) -> Bool {
        state.withLock { $0.isClosing = true }
        state.broadcast()
        return state.waiting { pool, timeIsOver in
            let isOver = pool.threads == 0 && pool.waitingJobs == 0
            return isOver || timeIsOver ? .done(isOver) : .wait(until: deadline)
        }
    }

    private func work() {
        while let job = nextJob() { job() }
    }

    /// The next job, or nil when this thread is to end; it is then no longer counted.
    private func nextJob() -> Job? {
        var isIdle = false
        return state.waiting { pool, timeIsOver in
            if isIdle {
                isIdle = false
                pool.idle -= 1
            }
            if let job = pool.takeJob() { return .done(job) }
            guard !timeIsOver, !pool.isClosing else {
                pool.threads -= 1
                if pool.threads == 0 { state.broadcast() }
                return .done(nil)
            }
            isIdle = true
            pool.idle += 1
            return .wait(until: MonotonicTime(secondsFromNow: idleSeconds))
        }
    }
}
