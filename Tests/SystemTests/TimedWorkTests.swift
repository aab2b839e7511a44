import Dispatch
import Synchronization
import System
import Testing

@Suite struct TimedWorkTests {
    @Test func piecesComeInTheOrderOfTheirTimes() {
        let work = TimedWork(named: "timed")
        let done = Mutex<[Int]>([])
        @Sendable func note(_ number: Int) { done.withLock { $0.append(number) } }
        let start = ContinuousClock.now
        work.start(after: .milliseconds(60)) { note(4) }
        work.start(after: .milliseconds(30)) { note(3) }
        work.start { note(1) }
        work.start { note(2) }
        work.wait()
        // The later ones may have come meanwhile, on a slow machine.
        #expect(done.withLock { $0.prefix(2) } == [1, 2])
        let last = Monitor(false)
        work.start(after: .milliseconds(60)) {
            last.withLock { $0 = true }
            last.signal()
        }
        last.waiting { isDone, _ in isDone ? .done(()) : .wait(until: nil) }
        #expect(done.withLock(\.self) == [1, 2, 3, 4] && .now - start >= .milliseconds(60))
    }

    /// A piece that is to come earlier than all others does not wait for them, and one may start another.
    @Test func anEarlierPieceIsNotLate() {
        let work = TimedWork(named: "timed")
        work.start(after: .seconds(3600)) {}
        let count = Mutex(0)
        for _ in 0..<100 { work.start { work.start { count.withLock { $0 += 1 } } } }
        work.wait()
        work.wait()
        #expect(count.withLock(\.self) == 100)
    }

    @Test func oneAtATimeWhoeverStartsThem() {
        let work = TimedWork(named: "timed")
        let seen = Mutex((running: 0, most: 0, count: 0))
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for number in 0..<200 {
                work.start(after: .microseconds(number % 3)) {
                    seen.withLock {
                        $0.running += 1
                        $0.most = max($0.most, $0.running)
                    }
                    seen.withLock { ($0.running, $0.count) = ($0.running - 1, $0.count + 1) }
                }
            }
        }
        while seen.withLock(\.count) < 1600 { work.wait() }
        #expect(seen.withLock(\.most) == 1)
    }
}
