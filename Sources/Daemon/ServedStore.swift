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
    }

    /// What `status` needs from the disk.
    private struct Finding: Sendable {
        let time = Timestamp.now()
        let status: CommitterStatus
        let path: FilePath
        let conflicts: [String]
        let interruptedChange: String?
        let trouble: String?
        let failedOpens: [String]
        let lost: [LostReport]
        let lists: RecipientWatch.Finding
        let hasList: Bool?
    }

    /// How long slow work may hold a report up.
    private static let patience = Duration.seconds(7)

    private let state: Mutex<State>
    private let look = RepeatedLook<Finding?>(named: "status")
    /// Whether its disk answers.
    let disk: DiskLook
    /// Tries again what could not be saved.
    let saving = RepeatedLook<Int>(named: "save-again")
    /// Its folder, links resolved.
    let path: FilePath
    /// nil when the store could not be opened.
    let store: Store?
    /// nil when the store could not be opened.
    let committer: Committer?
    /// Why it could not be opened.
    let failure: String?
    /// Whether its disk was silent, and another one takes its place once that answers.
    let isAwaited: Bool
    /// What others did to its recipients; nothing is looked at before the store is used.
    let recipients: RecipientWatch?
    /// The changes of its recipients that saves in the mount are making.
    let runningChanges = RunningChanges()

    init(
        _ settings: StoreSettings, path: FilePath, store: Store? = nil, committer: Committer? = nil,
        failure: String? = nil, isAwaited: Bool = false,
        recipientPatience: Double = 0.3
    ) {
        state = Mutex(State(settings: settings))
        self.path = path
        disk = DiskLook.at(path)
        self.store = store
        self.committer = committer
        self.failure = failure
        self.isAwaited = isAwaited
        recipients = store.map { RecipientWatch($0, patience: recipientPatience) }
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
        committing.packs = committer.options.packs
        committing.branchFolders = committer.options.branchFolders
        ActorCall { [committing] in await committer.use(committing) }
    }

    private static let lookNote =
        "still looking for uncommitted changes, so this list may be incomplete."

    private static let listsNote =
        "still looking at its lists of recipients, so readers whom you have not approved may be missing here."

    /// Begins to make a report, on a thread of its own: it looks at the disk, and so may `failedOpens`. Whoever calls
    /// what this returns waits for the report; where the disk does not answer, it says how things were before.
    func beginReport(
        unsaved: [UnsavedSecret], beingWritten: [String], failedOpens: @escaping @Sendable () -> [String]
    ) -> () -> StoreReport {
        let number = look.begin { [self] in finding(failedOpens) }
        return { [self] in
            var report: StoreReport
            if let finding = look.finding(of: number, patience: Self.patience) {
                report = finding.map { self.report(of: $0, unsaved) } ?? unopened
            } else {
                report = unseen(unsaved)
            }
            let last = look.last.flatMap(\.self)
            noteSaving(&report, hasList: last?.lists.isOld == true ? nil : last?.hasList)
            report.reencryption = runningChanges.progress
            report.unsaved = unsaved.map(UnsavedReport.init)
            report.beingWritten = beingWritten
            return report
        }
    }

    /// The lists of each store by which nothing is encrypted before the user has approved them. All are looked at side by side,
    /// and waited for together.
    static func unapprovedLists(of stores: [ServedStore]) -> [[String]] {
        let looks = stores.map { store in
            store.isInUse ? store.recipients.map { (watch: $0, number: $0.begin()) } : nil
        }
        let deadline = MonotonicTime(secondsFromNow: 5)
        return looks.map { look in
            let finding = look.map { $0.watch.finding(of: $0.number, until: deadline) }
            return (finding?.changes ?? []).filter { $0.stopsSaving == true }.map(\.file)
        }
    }

    /// nil for a store that could not be opened.
    private func finding(_ failedOpens: () -> [String]) -> Finding? {
        guard let store, let committer else { return nil }
        let status = committer.wholeStatus
        return Finding(
            status: status, path: store.root.path,
            conflicts: conflicts,
            interruptedChange: interruptedChange, trouble: isInUse ? recipients?.trouble : nil,
            failedOpens: failedOpens(), lost: lost,
            lists: isInUse ? recipients?.finding ?? RecipientWatch.Finding() : RecipientWatch.Finding(),
            hasList: isInUse ? Self.hasList(store) : nil)
    }

    /// Not what a save in the mount is making: how far that is, is told in its own words.
    private var interruptedChange: String? {
        let wasAny = runningChanges.isAny
        guard let sentence = recipients?.interruptedChange, !wasAny, !runningChanges.isAny else { return nil }
        return sentence
    }

    private var unopened: StoreReport {
        StoreReport(name: name, path: path.string, state: .failed, lastError: failure)
    }

    /// What is known without the disk.
    private func unseen(_ unsaved: [UnsavedSecret]) -> StoreReport {
        guard let committer else { return unopened }
        let last = look.last.flatMap(\.self)
        var report: StoreReport
        if let last {
            report = self.report(of: last, unsaved)
        } else {
            let status = committer.status
            report = StoreReport(
                name: name, path: path.string, state: .waiting, branch: status.branch,
                pendingChanges: status.pendingChanges, unpushedCommits: status.unpushedCommits)
        }
        let rest =
            last.map { "; this report is \(Timestamp.now().seconds - $0.time.seconds) s old" } ?? ""
        if let time = look.runningTime, time >= DiskLook.silence {
            if let error = report.lastError { report.otherErrors.insert(error, at: 0) }
            report.state = .failed
            report.lastError =
                "its disk is not responding: reads and saves wait until it does\(rest)"
        } else {
            report.notes.append("its disk has not responded yet\(rest)")
        }
        return report
    }

    private func report(of finding: Finding, _ unsaved: [UnsavedSecret]) -> StoreReport {
        let status = finding.status
        let isWaiting = status.pendingChanges > 0 || status.unpushedCommits > 0
        let isQuiet = status.lastError == nil && unsaved.isEmpty && !isWaiting
        let state: StoreState =
            switch status.state {
            case .starting: isQuiet ? .starting : .waiting
            case .ready: isQuiet ? .ready : .waiting
            case .noRepository, .noCommits: unsaved.isEmpty ? .noCommits : .waiting
            }
        // The gravest first: what could be lost, what is half done, what does not reach the remote, what cannot be read.
        let errors =
            [
                unsaved.first.map { "\($0.path) is not saved: \($0.message)" }, finding.interruptedChange,
                status.lastError, finding.trouble,
            ].compactMap(\.self) + finding.failedOpens
        return StoreReport(
            name: name, path: finding.path.string, state: state, branch: status.branch, remote: status.remote,
            pendingChanges: status.pendingChanges, unpushedCommits: status.unpushedCommits,
            lastCommit: status.lastCommit.map {
                CommitReport(id: $0.id, subject: $0.subject, time: Timestamp(seconds: $0.time))
            },
            lastPush: status.lastPush.map(Timestamp.init(seconds:)),
            lastFetch: status.lastFetch.map(Timestamp.init(seconds:)), activity: status.activity,
            conflicts: finding.conflicts, lastError: errors.first, otherErrors: Array(errors.dropFirst()),
            notes: status.notes + (status.isLooking ? [Self.lookNote] : [])
                + (finding.lists.isOld ? [Self.listsNote] : []), lost: finding.lost,
            savingObjection: finding.lists.objection, recipientChanges: finding.lists.changes)
    }
}

extension UnsavedReport {
    fileprivate init(_ secret: UnsavedSecret) {
        self.init(
            path: secret.path, error: secret.message, since: Timestamp(seconds: secret.since.seconds))
    }
}
