import Git
public import Logging
public import Stores
import Synchronization
public import SystemPackage

/// Turns the changes of one store into commits and pushes them.
///
/// All git work of the store runs on this actor's own thread. A libgit2 repository is opened anew for each piece of
/// work: it costs a fraction of a commit, and settings that changed meanwhile are honoured.
public actor Committer: ChangeSink {
    /// How a committer works.
    public struct Options: Sendable {
        /// How long changes gather before they are committed (`commit.delay`).
        public var delay: Duration
        /// How long a push may take (`push.timeout`).
        public var pushTimeout: Duration
        /// The program whose `transfer` command pushes: our own.
        public var program: FilePath

        /// Options from their values.
        public init(delay: Duration, pushTimeout: Duration, program: FilePath) {
            self.delay = delay
            self.pushTimeout = pushTimeout
            self.program = program
        }
    }

    /// What threads that serve the file system and the control socket share with the actor.
    struct Shared: Sendable {
        var pending = PendingChanges()
        /// Changes that are being committed right now.
        var inWork = 0
        var isScheduled = false
        var lastChange = ContinuousClock.now
        var isFinishing = false
        var status = CommitterStatus()
        var commitError: String?
        var pushError: String?
    }

    nonisolated let shared = Mutex(Shared())
    nonisolated let store: Store
    nonisolated let options: Options
    nonisolated let log: Logger
    private nonisolated let executor = StoreExecutor()
    var isPushing = false
    var mustPushAgain = false
    var failedPushes = 0

    /// The thread on which all git work of the store runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The committer of a store; nothing runs before `start()`.
    public init(store: Store, options: Options, log: Logger) {
        self.store = store
        self.options = options
        var log = log
        log[metadataKey: "store"] = "\(store.name)"
        self.log = log
        shared.withLock { $0.status.lastPush = store.fact("lastPush").flatMap { Int64($0) } }
    }

    /// Notes a change that is durable on disk; it is committed after a while. Returns at once.
    public nonisolated func note(_ change: Change) {
        let mustSchedule = shared.withLock { shared in
            shared.pending.add(change)
            shared.lastChange = .now
            guard !shared.isScheduled, !shared.isFinishing else { return false }
            shared.isScheduled = true
            return true
        }
        if mustSchedule { schedule(after: options.delay) }
    }

    /// What is known right now; does not wait for work that is going on.
    public nonisolated var status: CommitterStatus {
        shared.withLock { shared in
            var status = shared.status
            status.pendingChanges = shared.pending.count + shared.inWork
            status.lastError = shared.commitError ?? shared.pushError
            return status
        }
    }

    private nonisolated func schedule(after delay: Duration) {
        Task { await self.commitWhenQuiet(after: delay) }
    }

    /// Waits until no change came for a while, at most five times as long as one is asked to wait.
    private func commitWhenQuiet(after delay: Duration) async {
        let first = ContinuousClock.now
        var wait = delay
        while wait > .zero {
            try? await Task.sleep(for: wait)
            let quietSince = shared.withLock { $0.lastChange }
            let now = ContinuousClock.now
            wait = min(quietSince + delay, first + delay * 5) - now
        }
        shared.withLock { $0.isScheduled = false }
        commitPending()
        await push()
    }

    /// Commits what waits; what cannot be committed now waits on.
    func commitPending() {
        let batch = shared.withLock { shared in
            defer {
                shared.inWork = shared.pending.count
                shared.pending = PendingChanges()
            }
            return shared.pending
        }
        guard !batch.isEmpty else { return }
        let outcome: Result<Void, CommitFailure>
        do {
            try commit(batch)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        let mustRetry = shared.withLock { shared in
            shared.inWork = 0
            switch outcome {
            case .success:
                shared.commitError = nil
                return false
            case .failure(let failure):
                shared.commitError = failure.message
                if failure.isFinal { return false }
                shared.pending.putBack(batch)
                guard !shared.isScheduled, !shared.isFinishing else { return false }
                shared.isScheduled = true
                return true
            }
        }
        if case .failure(let failure) = outcome { log.warning("\(failure.message)") }
        if mustRetry { schedule(after: max(options.delay, .seconds(1))) }
    }

    /// Commits what waits and pushes it, within `timeout`; nothing is committed on its own any more. For the end.
    public func finish(timeout: Duration) async {
        let end = ContinuousClock.now + timeout
        shared.withLock { $0.isFinishing = true }
        commitPending()
        // A lock that another program holds for a moment.
        while shared.withLock({ !$0.pending.isEmpty }), .now < end {
            try? await Task.sleep(for: .milliseconds(100))
            commitPending()
        }
        await push(timeout: max(end - .now, .milliseconds(500)))
        while isPushing, .now < end { try? await Task.sleep(for: .milliseconds(20)) }
    }
}

/// Why changes could not be committed.
struct CommitFailure: Error {
    /// One sentence.
    var message: String
    /// Trying again would not help until something changes.
    var isFinal = false
}
