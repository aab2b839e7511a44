import Git
import Stores
import System
import SystemPackage

extension StoreState {
    /// Notes a change that is durable on disk; it is committed after a while. Returns at once.
    /// - Parameter file: what was saved; nil where it is to be looked for at its path.
    func note(_ change: Change, as file: HeldFile? = nil) {
        add(change, saved(change, as: file))
        if withLock({ $0.mustKeepAgain(change) }) { send(.keepPending) }
    }

    /// As `note`, of what was found in the working tree: whoever has changed it may have been git.
    /// - Returns: whether nothing of its path was waiting.
    @discardableResult
    func noteFound(_ change: Change) -> Bool {
        add(change, nil, isFound: true)
    }

    @discardableResult
    private func add(_ change: Change, _ text: SavedCiphertexts.Saved?, isFound: Bool = false) -> Bool {
        let now = FileTime.now.seconds
        setAsideWhatWasLeftBehind()
        let (mustSchedule, isNew) = withLock { values in
            let before = values.pending.count
            values.pending.add(change, at: now, text: text, isFound: isFound)
            values.lastChange = .now
            return (values.mustSchedule(), values.pending.count > before)
        }
        if mustSchedule { schedule(after: options.delay) }
        return isNew
    }

    /// What was removed, or got another name, and is not committed: files and folders of a repository, by their paths in it.
    func removed(in part: RepositoryPart) -> Set<FilePath> {
        let all = withLock { $0.pending.removed.union($0.inWork.removed.subtracting($0.pending.paths)) }
        return Set(
            all.compactMap { path in
                store.repositories.around(path) == part.nested ? path.relative(to: part.nested) : nil
            })
    }

    /// Plans a commit, for who was told by `mustSchedule`.
    func schedule(after delay: Duration) {
        send(.commit(after: delay, by: withLock { $0.settingsNumber }))
    }

    /// Whether the daemon has given this store all the time it had: what has not begun to take its place stays undone.
    var isOutOfTime: Bool {
        guard let end = withLock({ $0.end }) else { return false }
        return end <= .now
    }

    /// - Throws: `.cancelled` when the time is over.
    func checkTime() throws(GitError) {
        guard isOutOfTime else { return }
        throw GitError(code: .cancelled, message: "passdir exits")
    }

    /// When what has waited for a quiet moment since `start` goes on although git is at work: a branch that moves under
    /// `git pull` makes it fail, or write over what was saved since it looked. At the end time counts.
    func quietEnd(_ start: ContinuousClock.Instant, _ top: FilePath) -> ContinuousClock.Instant {
        if withLock({ $0.isFinishing }) { return start + .milliseconds(200) }
        let end = start + GitTraffic.patience
        guard end <= .now, GitTraffic.isPulling(in: top) else { return end }
        return start + GitTraffic.patienceWithPulls
    }

    /// Waits for a quiet moment in a working tree.
    func waitForQuiet(in top: FilePath) {
        let start = ContinuousClock.now
        GitTraffic.quietly(in: top, until: { quietEnd(start, top) }) {}
    }
}

extension StoreState.Values {
    /// Whether anything of a repository can be committed has been looked at.
    mutating func note(_ nested: FilePath, isUnfinished: Bool) {
        if isUnfinished { unfinished.insert(nested) } else { unfinished.remove(nested) }
    }

    /// What was kept at these paths, and below them, is no longer what was last saved.
    /// - Returns: whether somebody must now keep it.
    mutating func mustKeepAgain(_ change: Change) -> Bool {
        let paths = change.paths
        for place in kept.keys {
            kept[place] = kept[place]?.filter { name in !paths.contains { name.starts(with: $0) } }
        }
        guard !unfinished.isEmpty, !isKeeping, !isFinishing else { return false }
        isKeeping = true
        return true
    }
}
