import Synchronization
import System

/// Runs the jobs of one store's committer, one after another, on a thread of its own.
///
/// Git and gpg block, and Swift's shared threads must not; one store's work never waits for another's (rule 8 of
/// the map). The thread starts with the first job and ends when there is none left. Where the system has no thread to
/// give, the jobs wait: what is saved lies safe on disk.
final class StoreExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let state = Mutex(State())
    /// What `top -H` shows of the thread; the kernel keeps 15 bytes.
    private let name: String

    init(store: String) {
        name = "git \(store)"
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { PosixThread.startWhenPossible(named: name) { self.runJobs() } }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    private func runJobs() {
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                if state.jobs.isEmpty { state.isRunning = false }
                return state.jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }
}
