public import Git
import Glibc
public import Logging
import OrderedCollections
public import Stores
import Synchronization
public import SystemPackage

/// Turns the changes of one store into commits, and keeps store and remote together.
///
/// All git work of the store runs on this actor's own thread; transfers run in child processes, merges of secrets on
/// threads of their own. A libgit2 repository is opened anew for each piece of work: it costs a fraction of a commit,
/// and settings that changed meanwhile are honoured.
public actor Committer: ChangeSink {
    /// How a committer works.
    public struct Options: Sendable {
        /// How long changes gather before they are committed (`commit.delay`).
        public var delay: Duration
        /// One commit for each secret instead of one for all that gathered (`commit.each`).
        public var commitsEach = false
        /// How long a remote may be silent in a push or fetch (`push.timeout`).
        public var pushTimeout: Duration
        /// How often the remote is asked for changes (`sync.interval`); nil: only when something is pushed.
        public var interval: Duration?
        /// How the remote is spoken to (`sync.transport`).
        public var transport = Transport.automatic
        /// Our commits are told anew on the remote's tip instead of being merged (`sync.integration`).
        public var rebases = false
        /// The program whose `transfer` command pushes and fetches: our own.
        public var program: FilePath
        /// What a server that wants credentials is offered first; called on a thread that may wait.
        public var credentials: (@Sendable (CredentialRequest) -> Credential?)?
        /// How many bytes a fetch may bring, and how many the files in it may take (`limits.transfer`).
        public var transferLimit = 1 << 30
        /// What a server is offered.
        public var offers = OfferedCredentials.all
        /// The user's own OpenPGP key (`store.NAME.key`): signs commits where `user.signingkey` names none.
        public var ownKey: String?
        /// What the configuration says of the remote and the branch; it steers nothing, and `status` tells where the
        /// repository says something else.
        public var configuredURL: String?
        /// As `configuredURL`.
        public var configuredBranch: String?
        /// Tells the user something that cannot wait for `status`: the store's name, a sentence.
        public var notify: @Sendable (String, String) -> Void = { _, _ in }

        /// Called with the folders in which something changes when the branch moves, whoever moves it, as soon as they are
        /// known; whoever watches them calls `branchMayHaveMoved()`.
        public var branchFolders: (@Sendable ([FilePath]) -> Void)?

        /// Keeps what was learned of the store, such as the time of a push, where the store itself keeps nothing: a command
        /// beside a daemon, which tells it in `status`. The name of the fact, its value.
        public var keepFact: (@Sendable (String, String) -> Void)?

        /// Whether what others left uncommitted in the store is looked for; a command that commits one change does not.
        public var recovers = true

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
        var inWork = PendingChanges()
        /// Paths of what is not committed yet.
        var waiting: OrderedSet<FilePath> { inWork.paths.union(pending.paths) }
        var isScheduled = false
        /// How often other settings came: what was scheduled by former ones does nothing any more.
        var settingsNumber = 0
        var lastChange = ContinuousClock.now
        var isFinishing = false
        /// The store is shown no longer: what is saved of it yet is committed and pushed, and nothing else is exchanged.
        var hasLeft = false
        var status = CommitterStatus()
        /// Files of the store that git ignores: saved, and not committed.
        var ignored: Set<FilePath> = []
        /// Files of the store that its branch cannot hold, or no other machine would take: saved, and not committed.
        var refused: [FilePath: Refusal] = [:]
        /// Secrets and lists that the last look found staged or in conflict, relative to the store: the user's to commit.
        var staged: Set<FilePath> = []
        var commitError: String?
        /// Why it is not known what lies uncommitted in the store.
        var lookError: String?
        /// Why nothing can be committed as long as HEAD is where it was last seen; nil when it is on a branch.
        var headError: String?
        var syncError: String?
        /// What lies in the way of a merge.
        var obstacle: Obstacle?
        /// Which of the folders that had the store's path `pending` is about.
        var generation = 0
        var leftBehind: [LeftBehind] = []
        /// The repositories, by their tops below the store's folder, in which nothing can be committed before the user has
        /// finished something in git or checked out a branch.
        var unfinished: Set<FilePath> = []
        /// The paths of `pending` that are kept beside the working tree as they were last saved, by repository.
        var kept: [FilePath: Set<FilePath>] = [:]
        /// What waits is about to be kept.
        var isKeeping = false
        /// The tip of the store's own branch that was last compared with the remote's.
        var offered: ObjectID?
        /// The last commit of ours on the store's own branch, and its parent; nil where it cannot be taken back unseen any more.
        var lastOwn: (commit: ObjectID, parent: ObjectID)?
        /// What `status` was read from; nil before anybody looked, or where there is no repository.
        var seen: SeenBranch?
        /// The repositories inside the store, by their tops below its folder: those found at the start, and those that
        /// something was committed to since.
        var nestedTops: [FilePath] = []
        /// The repositories inside the store that could not be opened when they were last looked for, and why.
        var unopened: [FilePath: String] = [:]
    }

    nonisolated let shared = Mutex(Shared())
    nonisolated let store: Store
    private nonisolated let settings: Mutex<Options>
    nonisolated let log: Logger
    private nonisolated let executor: StoreExecutor
    var sync = SyncState()
    /// Force-moved branches that were noticed, by repository: what was remembered of them may not be written yet.
    var lastRewriting: [FilePath: (old: ObjectID, new: ObjectID)] = [:]
    /// Whether the store has a repository; nil before anybody looked.
    var hasRepository: Bool?
    /// What a crash left uncommitted was looked for, and nobody disturbed it.
    var hasLooked = false {
        didSet {
            let isLooking = !hasLooked
            shared.withLock { $0.status.isLooking = isLooking }
        }
    }
    /// A look for uncommitted secrets that is going on.
    var look: Task<Bool, Never>?
    /// The commits of ours since a look for uncommitted secrets began, by their parents; nil while nobody looks.
    var ownMoves: [ObjectID: ObjectID]?
    /// Asks the remote every now and then; nil when nobody wants that.
    var regular: Task<Void, Never>?
    /// When a lock of another program was last found held for long.
    var lockHeld: ContinuousClock.Instant?
    private var failedCommits = 0
    /// When this committer was made, in seconds since 1970: older locks are none of its process.
    let started = time(nil)

    /// The thread on which all git work of the store runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// How it works.
    public nonisolated var options: Options { settings.withLock { $0 } }

    /// The committer of a store; nothing runs before `start()`.
    public init(store: Store, options: Options, log: Logger) {
        self.store = store
        settings = Mutex(options)
        executor = StoreExecutor(store: "\(store.name)")
        var log = log
        log[metadataKey: "store"] = "\(store.name)"
        self.log = log
        shared.withLock {
            $0.status.isLooking = options.recovers
            $0.status.lastPush = learnedTime("lastPush")
            $0.status.lastFetch = learnedTime("lastFetch")
        }
    }

    /// Works by other settings from now on; what failed by the old ones is tried again by these.
    public func use(_ options: Options) async {
        settings.withLock { $0 = options }
        shared.withLock { shared in
            shared.settingsNumber += 1
            shared.isScheduled = false
        }
        guard hasRepository == true, !shared.withLock({ $0.hasLeft }) else { return }
        failedCommits = 0
        commitPending()
        sync.forgetFailures()
        exchangeRegularly()
        await synchronize(options.interval == nil ? .push : .everything)
    }

    /// Notes a change that is durable on disk; it is committed after a while. Returns at once.
    public nonisolated func note(_ change: Change) {
        noteFound(change, saved(change))
        if shared.withLock({ $0.mustKeepAgain(change) }) { Task { await self.keepPending() } }
    }

    /// As `note`, of what was found in the working tree: whoever has changed it may have been git.
    nonisolated func noteFound(_ change: Change, _ text: SavedCiphertexts.Saved? = nil) {
        let now = FileTime.now.seconds
        setAsideWhatWasLeftBehind()
        let mustSchedule = shared.withLock { shared in
            shared.pending.add(change, at: now, text: text)
            shared.lastChange = .now
            guard !shared.isScheduled, !shared.isFinishing else { return false }
            shared.isScheduled = true
            return true
        }
        if mustSchedule { schedule(after: options.delay) }
    }

    nonisolated func schedule(after delay: Duration) {
        let number = shared.withLock { $0.settingsNumber }
        Task { await self.commitWhenQuiet(after: delay, by: number) }
    }

    /// Waits until no change came for a while, at most five times as long as one is asked to wait.
    private func commitWhenQuiet(after delay: Duration, by settings: Int) async {
        let first = ContinuousClock.now
        var wait = delay
        while wait > .zero {
            try? await Task.sleep(for: wait)
            let quietSince = shared.withLock { $0.lastChange }
            let now = ContinuousClock.now
            wait = min(quietSince + delay, first + delay * 5) - now
        }
        let isCurrent = shared.withLock { shared in
            if shared.settingsNumber == settings { shared.isScheduled = false }
            return shared.settingsNumber == settings
        }
        guard isCurrent else { return }
        commitPending()
        await synchronize(.push)
    }

    /// Commits what waits; what cannot be committed now waits on.
    func commitPending() {
        followFolder()
        let (all, generation) = shared.withLock { shared in
            defer {
                shared.inWork = shared.pending
                shared.pending = PendingChanges()
            }
            return (shared.pending, shared.generation)
        }
        guard !all.isEmpty else { return }
        let batch = withoutHeld(all)
        guard !batch.isEmpty else { return shared.withLock { $0.inWork = PendingChanges() } }
        do throws(CommitFailure) {
            try commit(batch)
            let hadFailed = failedCommits > 0
            failedCommits = 0
            let mustSchedule = shared.withLock { shared in
                shared.inWork = PendingChanges()
                shared.commitError = nil
                // The next try of what failed may be minutes away: what comes now does not wait for that.
                guard hadFailed, !shared.isFinishing else { return false }
                shared.isScheduled = !shared.pending.isEmpty
                return shared.isScheduled
            }
            if mustSchedule { schedule(after: options.delay) }
        } catch {
            log.warning("\(error.message)")
            failedCommits += 1
            let mustSchedule = shared.withLock { shared in
                shared.inWork = PendingChanges()
                guard shared.generation == generation else {
                    shared.leftBehind.append(
                        LeftBehind(generation: generation, paths: Array(batch.paths)))
                    return false
                }
                shared.commitError = error.message
                shared.pending.putBack(batch)
                guard !shared.isScheduled, !shared.isFinishing else { return false }
                shared.isScheduled = true
                return true
            }
            // 1 s, 2 s, 4 s … 5 min: a signature may ask for a passphrase each time.
            let wait = Duration.seconds(min(1 << min(failedCommits - 1, 9), 300))
            if mustSchedule { schedule(after: max(options.delay, wait)) }
        }
    }

    /// Commits what waits and pushes it, within `timeout`; nothing is committed on its own any more. For the end.
    public func finish(timeout: Duration, pushing: Bool = true) async {
        let end = ContinuousClock.now + timeout
        shared.withLock { $0.isFinishing = true }
        recoverAtEnd()
        commitPending()
        // A lock that another program holds for a moment.
        while shared.withLock({ !$0.pending.isEmpty }), .now < end {
            try? await Task.sleep(for: .milliseconds(100))
            commitPending()
        }
        guard pushing, .now < end else { return }
        Task { await self.synchronize(.push) }
        try? await Task.sleep(for: .milliseconds(5))
        while sync.isRunning, .now < end { try? await Task.sleep(for: .milliseconds(10)) }
    }
}

/// Why changes could not be committed.
struct CommitFailure: Error {
    /// One sentence.
    var message: String
}
