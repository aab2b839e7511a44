import Synchronization

/// Tests that await, a few at a time, on threads of their own.
///
/// Swift Testing starts all tests at once on as many threads as there are processors. A test that awaits would go on there
/// only when every other one has had its turn: hundreds would lie half done, each with its gpg-agent, and minutes would
/// pass between two of its lines.
///
/// They run with a priority of their own as well. What a test starts and awaits (a task, a committer) runs on Swift's shared
/// threads, of which each priority has its own: at the priority of the other tests it would wait behind hundreds that block.
enum AwaitingTests {
    private static let executor = ThreadExecutor()
    private static let priority = TaskPriority.userInitiated
    /// Beside them runs one test that blocks for each processor.
    private static let maximum = 2
    private static let state = Mutex<(running: Int, waiting: [CheckedContinuation<Void, Never>])>((0, []))

    /// Runs a test when few others of its kind are under way.
    static func run<Result: Sendable>(_ test: @escaping () async throws -> Result) async throws -> Result {
        // The caller awaits the task: the test neither runs beside it nor outlives it.
        nonisolated(unsafe) let test = test
        return try await Task(executorPreference: executor, priority: priority) {
            await begin()
            defer { end() }
            return try await test()
        }.value
    }

    /// Returns when the caller may begin.
    private static func begin() async {
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
    private static func end() {
        let next = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() as CheckedContinuation? }
            state.running -= 1
            return nil
        }
        next?.resume()
    }

    /// Runs each job on a thread of its own: it may block.
    private final class ThreadExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Thread.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
