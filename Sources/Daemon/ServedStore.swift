import Logging
import Mount
import OpenPGP
import Settings
import Stores
import Sync
import Synchronization
import System
import SystemPackage

/// A store as the daemon serves it: with its committer, or not to be opened with the reason.
///
/// Nothing of it is looked at before somebody uses it, or before the daemon has looked, in the background, whether
/// something of it waits to be committed.
final class ServedStore: Sendable {
    private struct State: Sendable {
        var settings: StoreSettings
        var isStarted = false
        /// The last report that was asked for, and when.
        var look: (report: Attempt<StoreReport>, start: ContinuousClock.Instant)?
    }

    /// How long a report may take before its disk is said not to answer.
    private static let patience = Duration.seconds(7)

    private let state: Mutex<State>
    /// Its folder, links resolved.
    let path: FilePath
    /// nil when the store could not be opened.
    let store: Store?
    /// nil when the store could not be opened.
    let committer: Committer?
    /// Why it could not be opened.
    let failure: String?
    /// What others did to its recipients; nothing is looked at before the store is used.
    let recipients: RecipientWatch?

    init(
        _ settings: StoreSettings, path: FilePath, store: Store? = nil, committer: Committer? = nil,
        failure: String? = nil
    ) {
        state = Mutex(State(settings: settings))
        self.path = path
        self.store = store
        self.committer = committer
        self.failure = failure
        recipients = store.map { RecipientWatch($0) }
    }

    /// As the configuration has it now.
    var settings: StoreSettings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    var definition: StoreDefinition { settings.definition }

    var name: String { definition.name }

    /// The conflict files that are known and not settled, as the mount shows them.
    var conflicts: [String] {
        committer?.conflicts.map { (store?.visiblePath(of: $0) ?? $0).string } ?? []
    }

    /// Whether anybody has looked into it since it is shown.
    private var isInUse: Bool { store?.root.isOpen ?? false }

    /// Starts the committer unless that was done: it mends what a crash left, and finds what was saved but never
    /// committed. Returns at once; nil when it was done.
    @discardableResult
    func start() -> ActorCall<Void>? {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst, let committer else { return nil }
        if isInUse { recipients?.start() }
        return ActorCall { await committer.start() }
    }

    /// Works by other settings from now on, and stays as it is otherwise: mounted, with what is open and unsaved of it.
    func use(
        _ settings: StoreSettings, _ engine: any Engine, _ options: Store.Options,
        _ committing: Committer.Options
    ) {
        guard let store, let committer else { return }
        store.use(engine, options)
        var committing = committing
        committing.branchFolders = committer.options.branchFolders
        ActorCall { [committing] in await committer.use(committing) }
    }

    private static let lookNote =
        "looking for what is not committed yet: more may wait than is told here."

    /// Begins to make a report, on a thread of its own: it looks at the disk, and so may `failedOpen`. Whoever calls
    /// what this returns waits for the report, and is told when the disk does not answer.
    func beginReport(
        unsaved: [UnsavedSecret], beingWritten: [String], failedOpen: @escaping @Sendable () -> String?
    ) -> () -> StoreReport {
        let now = ContinuousClock.now
        let look = state.withLock { state in
            // One thread that hangs is enough.
            if let look = state.look, look.start + Self.patience < now, look.report.value(until: .now) == nil
            {
                return look
            }
            let report = Attempt(named: "status") {
                self.report(unsaved: unsaved, beingWritten: beingWritten, failedOpen: failedOpen())
            }
            state.look = (report, now)
            return (report, now)
        }
        return {
            let rest = (look.start + Self.patience - .now) / .seconds(1)
            let deadline = MonotonicTime(secondsFromNow: max(rest, 0))
            return look.report.value(until: deadline)
                ?? self.unseen(unsaved: unsaved, beingWritten: beingWritten)
        }
    }

    private func unseen(unsaved: [UnsavedSecret], beingWritten: [String]) -> StoreReport {
        let status = committer?.status
        return StoreReport(
            name: name, path: path.string, state: .failed, pendingChanges: status?.pendingChanges ?? 0,
            unpushedCommits: status?.unpushedCommits ?? 0,
            lastError: "its disk does not answer: what is read and saved there waits until it does",
            unsaved: unsaved.map(UnsavedReport.init), beingWritten: beingWritten)
    }

    private func report(
        unsaved: [UnsavedSecret], beingWritten: [String], failedOpen: String?
    ) -> StoreReport {
        guard let status = committer?.wholeStatus else {
            return StoreReport(
                name: name, path: path.string, state: .failed, lastError: failure)
        }
        let isWaiting = status.pendingChanges > 0 || status.unpushedCommits > 0
        let state: StoreState =
            switch status.state {
            case .starting, .ready:
                status.lastError == nil && unsaved.isEmpty && !isWaiting ? .ready : .waiting
            case .noRepository, .noCommits: unsaved.isEmpty ? .noCommits : .waiting
            }
        // The gravest first: what could be lost, what is half done, what does not reach the remote, what cannot be read.
        let errors = [
            unsaved.first.map { "\($0.path) is not saved: \($0.message)" }, recipients?.interruptedChange,
            status.lastError, isInUse ? recipients?.trouble : nil, failedOpen,
        ].compactMap(\.self)
        return StoreReport(
            name: name, path: (store?.root.path ?? path).string, state: state, branch: status.branch,
            pendingChanges: status.pendingChanges, unpushedCommits: status.unpushedCommits,
            lastCommit: status.lastCommit.map {
                CommitReport(id: $0.id, subject: $0.subject, time: Timestamp(seconds: $0.time))
            },
            lastPush: status.lastPush.map(Timestamp.init(seconds:)),
            lastFetch: status.lastFetch.map(Timestamp.init(seconds:)), activity: status.activity,
            conflicts: conflicts,
            lastError: errors.first, otherErrors: Array(errors.dropFirst()),
            notes: status.notes + (status.isLooking ? [Self.lookNote] : []),
            unsaved: unsaved.map(UnsavedReport.init), beingWritten: beingWritten,
            recipientChanges: isInUse ? recipients?.reports ?? [] : [])
    }
}

extension UnsavedReport {
    fileprivate init(_ secret: UnsavedSecret) {
        self.init(
            path: secret.path, error: secret.message, since: Timestamp(seconds: secret.since.seconds))
    }
}
