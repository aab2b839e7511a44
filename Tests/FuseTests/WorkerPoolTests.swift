import Synchronization
import System
import Testing

@testable import Fuse

/// The elastic pool of threads.
@Suite(.timeLimit(.minutes(1)))
struct WorkerPoolTests {
    @Test func aThreadStartsForEveryJobThatFindsNoneIdle() async throws {
        let pool = WorkerPool(limit: 100, idleSeconds: 10)
        let all = Gate()
        let running = Monitor(0)
        for _ in 0..<50 {
            pool.submit {
                running.withLock { $0 += 1 }
                running.broadcast()
                all.wait()
            }
        }
        let deadline = MonotonicTime(secondsFromNow: 20)
        let count = try await onThread {
            running.waiting { $0 == 50 || $1 ? .done($0) : .wait(until: deadline) }
        }
        #expect(count == 50)
        #expect(pool.threadCount == 50)
        all.open()
        try await onThread { pool.finish() }
        #expect(pool.threadCount == 0)
    }

    @Test func moreJobsThanThreadsWaitTheirTurnAndAllRun() async throws {
        let pool = WorkerPool(limit: 3, idleSeconds: 10)
        let sum = Atomic(0)
        let most = Atomic(0)
        let now = Atomic(0)
        for number in 0..<5000 {
            pool.submit {
                let count = now.add(1, ordering: .relaxed).newValue
                _ = most.max(count, ordering: .relaxed)
                sum.add(number, ordering: .relaxed)
                now.subtract(1, ordering: .relaxed)
            }
        }
        try await onThread { pool.finish() }
        #expect(sum.load(ordering: .relaxed) == 5000 * 4999 / 2)
        #expect(most.load(ordering: .relaxed) <= 3)
    }

    @Test func idleThreadsEnd() async throws {
        let pool = WorkerPool(limit: 8, idleSeconds: 0.05)
        let done = Gate()
        pool.submit { done.open() }
        let hasRun = try await onThread { done.wait(seconds: 20) }
        #expect(hasRun)
        // The end of a thread is no event to wait for; ask until it is so.
        for _ in 0..<400 where pool.threadCount > 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(pool.threadCount == 0)
        try await onThread { pool.finish() }
    }
}
