import Git
import Glibc
import Logging
import OrderedCollections
import Stores
import Synchronization
import SystemPackage

/// What is known of a store that is kept in git: its settings, what waits to be committed, what was found in its folder.
///
/// Whoever works for the store reads and notes it, on whatever thread: the threads that serve the file system and the
/// control socket, `CommitWriter`, `RemoteSession`, `Integrator`, and the `Committer`, which decides when they work.
final class StoreState: Sendable {
    /// What changes.
    struct Values: Sendable {
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
        /// When work that the store can do without, such as a merge, must have ended; nil while the daemon serves.
        var end: ContinuousClock.Instant?
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
        /// Files with our versions of secrets that merges kept beside the remote's, in that order, since the store is open.
        var keptTwice: [FilePath] = []
        /// Why it is not known what lies uncommitted in the store.
        var lookError: String?
        /// Why nothing can be committed as long as HEAD is where it was last seen; nil when it is on a branch.
        var headError: String?
        var syncError: String?
        /// What lies in the way of a merge.
        var obstacle: Integrator.Obstacle?
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
        /// The last commit of ours on the store's own branch, and the newest tip of it at which no reset had taken that out
        /// of the branch; nil where it cannot be taken back unseen any more.
        var lastOwn: (commit: ObjectID, seenAt: ObjectID)?
        /// When a stash was last made or removed, in seconds since 1970; nil where nobody has told of one.
        var lastStash: Int64?
        /// What `status` was read from; nil before anybody looked, or where there is no repository.
        var seen: SeenBranch?
        /// The repositories inside the store, by their tops below its folder: those found at the start, and those that
        /// something was committed to since.
        var nestedTops: [FilePath] = []
        /// The repositories inside the store that could not be opened when they were last looked for, and why.
        var unopened: [FilePath: String] = [:]

        /// What keeps changes from being committed or exchanged, as one sentence; nil: nothing that is known.
        var complaint: String? { commitError ?? headError ?? lookError ?? syncError }

        /// Whether somebody must now plan when what waits is committed; who is told so does it.
        mutating func mustSchedule() -> Bool {
            guard !isScheduled, !isFinishing else { return false }
            isScheduled = true
            return true
        }
    }

    let store: Store
    let log: Logger
    /// What a commit must not come between.
    let renames = RenamesUnderWay()
    /// When this process began to work on the store, in seconds since 1970: older locks are none of its own.
    let started = time(nil)
    private let settings: Mutex<Committer.Options>
    private let values = Mutex(Values())
    private let receiver = Mutex<(@Sendable (Errand) -> Void)?>(nil)

    init(_ store: Store, options: Committer.Options, log: Logger) {
        self.store = store
        settings = Mutex(options)
        var log = log
        log[metadataKey: "store"] = "\(store.name)"
        self.log = log
        withLock {
            $0.status.isLooking = options.recovers
            $0.status.lastPush = learnedTime("lastPush")
            $0.status.lastFetch = learnedTime("lastFetch")
        }
    }

    /// How the store is worked on from now on.
    var options: Committer.Options {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    func withLock<Result: Sendable>(_ body: (inout Values) -> Result) -> Result {
        values.withLock { body(&$0) }
    }

    /// Who runs errands from now on; those of before are nobody's.
    func receive(_ errands: @escaping @Sendable (Errand) -> Void) {
        receiver.withLock { $0 = errands }
    }

    /// Asks for something and does not wait for it.
    func send(_ errand: Errand) {
        receiver.withLock { $0 }?(errand)
    }

    /// Tells the user what cannot wait for `status`, and the log.
    func tell(_ sentence: String) {
        log.warning("\(sentence)")
        options.notify(store.name, sentence)
    }

    func setActivity(_ text: String?) {
        withLock { $0.status.activity = text }
    }
}

/// What the committer is asked to do by who may not wait for it: a thread that serves the file system, or work that looks
/// at a branch and finds that something is due.
enum Errand: Sendable {
    /// Commit and push what waits, once no change has come for so long; by settings of this number only.
    case commit(after: Duration, by: Int)
    /// The same at once.
    case commitAndPush
    /// Keep beside the working tree what waits and cannot be committed.
    case keepPending
    /// Keep what a reset has taken out of the branch: a commit of ours, and its parent.
    case keepReset(ObjectID, since: ObjectID)
    /// Look for what a stash has brought back.
    case lookAfterStash
    /// Fetch, merge and push.
    case synchronize
    /// Start in a folder that has taken the store's place.
    case beginInNewFolder
    /// Start in a repository that was not there before.
    case startAnew
}
