import CLinux
import Glibc
import Synchronization

/// Runs the jobs of one store's committer, one after another, on a thread of its own.
///
/// Git and gpg block, and Swift's shared threads must not; one store's work never waits for another's (rule 8 of
/// the map). The thread starts with the first job and ends when none has come for a while.
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
        if mustStart { startThread() }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    private func startThread() {
        var thread = pthread_t()
        let executor = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { argument in
                let executor = Unmanaged<StoreExecutor>.fromOpaque(argument!).takeRetainedValue()
                executor.runJobs()
                return nil
            }, executor.toOpaque())
        guard result == 0 else {
            // Without a thread nothing of this store could ever be committed; what is saved lies safe on disk.
            executor.release()
            preconditionFailure("no thread for a committer: \(result)")
        }
        pthread_detach(thread)
    }

    private func runJobs() {
        name.withCString { name in
            _ = passdir_prctl(PR_SET_NAME, UInt(bitPattern: name))
        }
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
