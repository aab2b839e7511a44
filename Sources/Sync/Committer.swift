public import Logging
public import Stores
import System
import SystemPackage

/// Decides when the changes of one store become commits, and when store and remote are brought together.
///
/// `CommitWriter` makes the commits, `RemoteSession` speaks to the remote, `Integrator` takes in what comes from there; what
/// is known of the store is its `StoreState`. All of them work on this actor's own thread; transfers run in child processes,
/// merges of secrets on threads of their own. What a thread notices that cannot wait for the actor comes as an `Errand`.
public actor Committer: ChangeSink {
    nonisolated let state: StoreState
    private nonisolated let executor: StoreExecutor
    nonisolated var store: Store { state.store }
    nonisolated var log: Logger { state.log }
    let writer: CommitWriter
    let integrator: Integrator
    nonisolated let packing: Packing
    /// What was learned of the remotes in exchanges before.
    let memory = RemoteMemory()
    var sync = SyncState()
    /// Whether the store has a repository; nil before anybody looked.
    var hasRepository: Bool?
    /// What a crash left uncommitted was looked for, and nobody disturbed it.
    var hasLooked = false {
        didSet {
            let isLooking = !hasLooked
            state.withLock { $0.status.isLooking = isLooking }
        }
    }
    /// What a stash may have brought back is looked for once changes have had their time to gather.
    var looksAfterStash = false
    /// A look for uncommitted secrets that is going on.
    var look: Task<Bool, Never>?
    /// Asks the remote every now and then; nil when nobody wants that.
    var regular: Task<Void, Never>?
    private var failedCommits = 0

    /// The thread on which all git work of the store runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// How it works.
    public nonisolated var options: Options { state.options }

    /// The committer of a store; nothing runs before `start()`.
    public init(store: Store, options: Options, log: Logger) {
        state = StoreState(store, options: options, log: log)
        executor = StoreExecutor(store: "\(store.name)")
        writer = CommitWriter(state)
        integrator = Integrator(state, writer: writer)
        packing = Packing(log: state.log)
        // The one way from threads that serve others, and may not wait, to this actor.
        state.receive { [weak self] errand in
            guard let self else { return }
            Task { await self.run(errand) }
        }
    }

    private func run(_ errand: Errand) async {
        switch errand {
        case .commit(let delay, let settings): await commitWhenQuiet(after: delay, by: settings)
        case .commitAndPush: await commitAndPush()
        case .keepPending: writer.keepPending()
        case .keepReset(let commit, let parent): writer.keepWhatWasReset(commit, since: parent)
        case .lookAfterStash: await lookAfterStash()
        case .synchronize: await synchronize(.everything)
        case .beginInNewFolder: await beginInNewFolder()
        case .startAnew: await startAnew()
        }
    }

    /// Works by other settings from now on; what failed by the old ones is tried again by these.
    public func use(_ options: Options) async {
        state.options = options
        state.withLock { values in
            values.settingsNumber += 1
            values.isScheduled = false
        }
        guard hasRepository == true, !state.withLock({ $0.hasLeft }) else { return }
        failedCommits = 0
        commitPending()
        sync.forgetFailures()
        exchangeRegularly()
        await synchronize(options.interval == nil ? .push : .everything)
    }

    /// A commit waits until a rename is noted. Returns at once.
    public nonisolated func beginRename() { state.renames.begin() }

    /// The rename is noted, or has failed.
    public nonisolated func endRename() { state.renames.end() }

    /// Notes a change that is durable on disk; it is committed after a while. Returns at once.
    public nonisolated func note(_ change: Change, as file: HeldFile?) {
        // A save that met another version has kept that one.
        if case .saved(let path) = change, ConflictList.original(of: path) != nil {
            ConflictList(store).add([path])
        }
        state.note(change, as: file)
    }

    /// Commits what waits now and pushes it, once; what fails is tried again as always.
    public func commitAndPush() async {
        commitPending()
        await synchronize(.push)
    }

    /// The store is shown no longer: as `commitAndPush`, and the remote is asked no more before `comeBack`.
    public func leave() async {
        state.withLock { $0.hasLeft = true }
        regular?.cancel()
        regular = nil
        await commitAndPush()
    }

    /// The store is shown again.
    public func comeBack() async {
        state.withLock { $0.hasLeft = false }
        if hasRepository != nil { await start() }
    }

    /// Waits until no change came for a while, at most five times as long as one is asked to wait.
    private func commitWhenQuiet(after delay: Duration, by settings: Int) async {
        let first = ContinuousClock.now
        var wait = delay
        while wait > .zero {
            try? await Task.sleep(for: wait)
            let quietSince = state.withLock { $0.lastChange }
            let now = ContinuousClock.now
            wait = min(quietSince + delay, first + delay * 5) - now
        }
        let isCurrent = state.withLock { values in
            if values.settingsNumber == settings { values.isScheduled = false }
            return values.settingsNumber == settings
        }
        if isCurrent { await commitAndPush() }
    }

    /// How often what waits is looked at anew while secrets are renamed one after another.
    private static let mostOvertaken = 16

    /// Commits what waits; what cannot be committed now waits on.
    func commitPending() {
        for _ in 0..<Self.mostOvertaken where commitPending(unlessOvertaken: true) { return }
        _ = commitPending(unlessOvertaken: false)
    }

    /// - Returns: false where secrets were renamed meanwhile: what waits is another batch by now.
    private func commitPending(unlessOvertaken: Bool) -> Bool {
        state.followFolder()
        let moment = unlessOvertaken ? state.renames.awaitNone() : nil
        let (all, generation) = state.withLock { values in
            defer {
                values.inWork = values.pending
                values.pending = PendingChanges()
            }
            return (values.pending, values.generation)
        }
        guard !all.isEmpty else { return true }
        let batch = withoutHeld(all)
        guard !batch.isEmpty else {
            state.withLock { $0.inWork = PendingChanges() }
            return true
        }
        do throws(CommitError) {
            try writer.commit(batch, since: moment)
            let hadFailed = failedCommits > 0
            failedCommits = 0
            let mustSchedule = state.withLock { values in
                values.inWork = PendingChanges()
                values.commitError = nil
                // The next try of what failed may be minutes away: what comes now does not wait for that.
                guard hadFailed, !values.isFinishing else { return false }
                values.isScheduled = !values.pending.isEmpty
                return values.isScheduled
            }
            if mustSchedule { state.schedule(after: options.delay) }
            FreedMemory.giveBackNowAndThen()
        } catch  where error.isOvertaken {
            return state.withLock { values in
                values.inWork = PendingChanges()
                guard values.generation == generation else {
                    values.leftBehind.append(
                        StoreState.LeftBehind(generation: generation, paths: Array(batch.paths)))
                    return true
                }
                values.pending.putBack(batch)
                return false
            }
        } catch {
            log.warning("\(error.message)")
            failedCommits += 1
            let mustSchedule = state.withLock { values in
                values.inWork = PendingChanges()
                guard values.generation == generation else {
                    values.leftBehind.append(
                        StoreState.LeftBehind(generation: generation, paths: Array(batch.paths)))
                    return false
                }
                values.commitError = error.message
                values.pending.putBack(batch)
                return values.mustSchedule()
            }
            // 1 s, 2 s, 4 s … 5 min: a signature may ask for a passphrase each time.
            let wait = Duration.seconds(min(1 << min(failedCommits - 1, 9), 300))
            if mustSchedule { state.schedule(after: max(options.delay, wait)) }
        }
        return true
    }

    /// As `finish(by:)`, within `timeout`.
    public nonisolated func finish(timeout: Duration, pushing: Bool = true) async {
        await finish(by: .now + timeout, pushing: pushing)
    }

    /// Commits what waits, once at least, and pushes it, until `end`; nothing is committed on its own any more. For the end.
    ///
    /// A merge that is still under way then is left to the next start: nothing of it has taken its place yet.
    public nonisolated func finish(by end: ContinuousClock.Instant, pushing: Bool = true) async {
        // Seen by what keeps the actor busy.
        state.withLock { ($0.isFinishing, $0.end) = (true, end) }
        packing.stop()
        await commitAndPush(by: end, pushing: pushing)
    }

    private func commitAndPush(by end: ContinuousClock.Instant, pushing: Bool) async {
        recoverAtEnd()
        commitPending()
        // A lock that another program holds for a moment.
        while state.withLock({ !$0.pending.isEmpty }), .now < end {
            try? await Task.sleep(for: .milliseconds(100))
            commitPending()
        }
        guard pushing, .now < end else { return }
        Task { await self.synchronize(.push) }
        try? await Task.sleep(for: .milliseconds(5))
        while sync.isRunning, .now < end { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
