import Synchronization
import System
import Testing

@testable import Fuse

/// Who waits for one thing takes no thread from those who need another.
@Suite(.timeLimit(.minutes(1)))
struct RequestLanesTests {
    private final class Owner: Sendable {}

    /// As many requests as have a turn wait; the next ones hold no thread, and have their turns in order.
    @Test func whoHasNoTurnWaitsInOrder() async throws {
        let pool = WorkerPool(limit: 1000, idleSeconds: 10)
        let lanes = RequestLanes(workers: pool)
        let owner = Owner()
        let lane = RequestLane(owner)
        let (first, all) = (Gate(), Gate())
        let running = Monitor(0)
        let order = Mutex<[Int]>([])
        let count = RequestLanes.Sort.look.limit
        for number in 0..<count {
            lanes.submit(lane, .look) {
                running.withLock { $0 += 1 }
                running.broadcast()
                (number == 0 ? first : all).wait()
            }
        }
        for number in 0..<200 { lanes.submit(lane, .look) { order.withLock { $0.append(number) } } }
        let deadline = MonotonicTime(secondsFromNow: 20)
        let areRunning = try await onThread {
            running.waiting { $0 == count || $1 ? .done($0) : .wait(until: deadline) }
        }
        #expect(areRunning == count)
        #expect(pool.threadCount == count)
        #expect(lanes.waitingCount(lane, .look) == 200)
        #expect(lanes.alone(lane, .look) { true } == nil, "a receiver does not wait with them")
        // One turn is free, and one worker does all that waits.
        first.open()
        for _ in 0..<400 where order.withLock({ $0.count }) < 200 {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(order.withLock { $0 } == Array(0..<200))
        all.open()
        try await onThread { pool.finish() }
        #expect(lanes.alone(lane, .look) { true } == true)
    }

    /// Other lanes, and the other sort of the same one, have turns of their own.
    @Test func aFullLaneHoldsNoOtherUp() async throws {
        let pool = WorkerPool(limit: 1000, idleSeconds: 10)
        let lanes = RequestLanes(workers: pool)
        let (owner, other) = (Owner(), Owner())
        let all = Gate()
        for _ in 0..<500 { lanes.submit(RequestLane(owner), .look) { all.wait() } }
        let (work, look) = (Gate(), Gate())
        lanes.submit(RequestLane(owner), .work) { work.open() }
        lanes.submit(RequestLane(other), .look) { look.open() }
        #expect(lanes.alone(RequestLane(other), .work) { true } == true)
        let haveRun = try await onThread { work.wait(seconds: 20) && look.wait(seconds: 20) }
        #expect(haveRun)
        #expect(pool.threadCount <= RequestLanes.Sort.look.limit + 2)
        all.open()
        try await onThread { pool.finish() }
        #expect(pool.threadCount == 0)
    }

    /// What comes while a receiver has the only turn is done though no other request comes after it.
    @Test func whatWaitsForAReceiverIsDone() async throws {
        let pool = WorkerPool(limit: 1000, idleSeconds: 10)
        let lanes = RequestLanes(workers: pool)
        let owner = Owner()
        let lane = RequestLane(owner)
        let done = Atomic(0)
        let value = lanes.alone(lane, .look) {
            for _ in 0..<100 { lanes.submit(lane, .look) { done.add(1, ordering: .relaxed) } }
            return 7
        }
        #expect(value == 7)
        try await onThread { pool.finish() }
        #expect(done.load(ordering: .relaxed) == 100)
    }
}
