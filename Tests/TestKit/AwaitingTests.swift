import Synchronization

/// Tests that await, a few at a time, on threads of their own.
///
/// Swift Testing starts all tests at once on as many threads as there are processors. A test that awaits would go on there
/// only when every other one has had its turn: hundreds would lie half done, each with its gpg-agent, and minutes would
/// pass between two of its lines.
enum AwaitingTests {
    static let executor = ThreadExecutor()
    /// Beside them runs one test that blocks for each processor.
    private static let maximum = 2
    private static let state = Mutex<(running: Int, waiting: [CheckedContinuation<Void, Never>])>((0, []))

    /// Returns when the caller may begin.
    static func begin() async {
        await withCheckedContinuation { continuation in
            let mayBegin = state.withLock { state in
                if state.running == maximum {
                    state.waiting.append(continuation)
                    return false
                }
                state.running += 1
                return true
            }
            if mayBegin { continuation.resume() }
        }
    }

    /// Lets the next one begin.
    static func end() {
        let next = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() as CheckedContinuation? }
            state.running -= 1
            return nil
        }
        next?.resume()
    }

    /// Runs each job on a thread of its own: it may block.
    final class ThreadExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Thread.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
