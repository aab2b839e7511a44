import Git
import Stores
import SystemPackage

extension Committer {
    /// Brings store and remote together now: fetches, merges, pushes. Returns when that is done or has failed.
    /// - Parameter choice: which history goes on where the two have parted; nil leaves that as it is, and says so.
    /// - Returns: what went wrong, as one sentence, nil when all is well or there is no remote; and what became of the
    ///   choice, as sentences without a full stop.
    public func synchronizeNow(
        choosing choice: HistoryChoice
    ) async -> (complaint: String?, chosen: [String]) {
        (sync.choice, sync.chosen) = (choice, [])
        defer { (sync.choice, sync.chosen) = (nil, []) }
        let complaint = await synchronizeNow(looking: true)
        return (complaint, sync.chosen)
    }

    /// As `synchronizeNow(choosing:)`, where nothing that others did is replaced.
    /// - Parameter isLooking: whether what lies uncommitted in the store is looked for although that was not done at the
    ///   start yet.
    /// - Returns: why they are not in step, as one sentence; nil when they are, or there is no remote.
    public func synchronizeNow(looking isLooking: Bool = false) async -> String? {
        let hasSeenAll = isLooking || hasLooked ? await lookBeforeSync() : true
        // One that runs already may have asked the remote before the user asked us.
        await exchangeHasEnded()
        sync.waitsForUser = []
        var request = SyncState.Request.everything
        // What is saved meanwhile belongs to it, too, but nobody waits for who saves without end.
        for _ in 0..<5 {
            commitPending()
            await synchronize(request)
            await exchangeHasEnded()
            guard state.withLock({ !$0.pending.isEmpty && $0.commitError == nil }) else { break }
            request = .push
        }
        // A look beside somebody else's merge takes what that has put into the index for staged by the user.
        if state.withLock({ !$0.staged.isEmpty }) { _ = await lookForUncommitted() }
        return whatIsNotInStep
            ?? (hasSeenAll
                ? nil
                : "git or another program is working in the folder of the store \"\(store.name)\", so it is "
                    + "unclear whether everything is committed: run passdir sync again once it is done.")
    }

    /// What there is to say where there is nothing to be in step with, as one sentence without a full stop; nil where a
    /// repository of the store has a remote.
    public nonisolated var reasonForNoRemote: String? {
        let tops = state.withLock { $0.nestedTops }
        var hasRepository = false
        for place in [FilePath()] + tops {
            guard let part = try? state.repository(at: place) else { continue }
            hasRepository = true
            guard case .branch(_, let ref, _) = try? part.repository.head() else { return nil }
            if let target = try? SyncTarget(of: ref, in: part.repository), !target.remote.isEmpty {
                return nil
            }
        }
        return hasRepository
            ? "everything is committed; there is no remote to sync with"
            : "there is no git repository: changes are neither committed nor pushed"
    }

    /// Returns when no exchange with a remote is under way.
    private func exchangeHasEnded() async {
        while sync.isRunning { await withCheckedContinuation { sync.waiting.append($0) } }
    }

    /// "In step" is said of the working tree, too: what git or others left there is committed, as at the start.
    /// - Returns: false when others were at work all the time, so that it is not known what lies there.
    private func lookBeforeSync() async -> Bool {
        guard options.recovers else { return true }
        _ = mendOnce()
        let end = ContinuousClock.now + .seconds(3)
        while await !lookForUncommitted() {
            guard .now < end else { return false }
            // Nothing tells when git has ended.
            try? await Task.sleep(for: .milliseconds(100))
        }
        return true
    }

    /// Why store and remote are not in step, as one sentence; nil when they are.
    private var whatIsNotInStep: String? {
        let complaint = state.withLock { $0.complaint }
        if let complaint = state.followFolder() ?? complaint ?? state.leftBehindSentence { return complaint }
        if let reason = store.repositories.reasonToLeaveTopAlone { return "\(reason)." }
        if let sentence = Reencryption.unfinishedAbort(in: store) { return sentence }
        if Reencryption.isUnderWay(in: store) {
            return
                "a change of recipients is in progress or was interrupted, and is not committed: passdir "
                + "recipients resume \(ShellWord.quoted(store.name)) finishes it, passdir recipients abort "
                + "\(ShellWord.quoted(store.name)) undoes it."
        }
        if let sentence = state.unopenedSentences(state.withLock { $0.unopened }).first {
            return "\(sentence)."
        }
        // What waits and has not failed was saved while this went on: it is not what was asked about.
        let (left, staged) = state.withLock { ($0.refusedSentences.first ?? $0.ignoredSentence, $0.staged) }
        return state.stagedSentence(staged) ?? left.map { "\($0)." }
    }
}
