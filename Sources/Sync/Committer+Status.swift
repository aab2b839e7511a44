import Git
import Glibc
import Stores
import Synchronization
import SystemPackage

/// What a committer knows of its store, for people.
extension Committer {
    /// What is known right now; does not wait for work that is going on.
    public nonisolated var status: CommitterStatus {
        shared.withLock { shared in
            var status = shared.status
            status.pendingChanges = shared.waiting.count
            status.lastError =
                shared.commitError ?? shared.headError ?? shared.lookError ?? shared.syncError
            status.notes += [shared.ignoredSentence].compactMap(\.self) + shared.refusedSentences
            status.notes += unopenedSentences(shared.unopened)
            status.notes += [stagedSentence(shared.staged)].compactMap { $0.map { String($0.dropLast()) } }
            return status
        }
    }

    /// As `status`, with what a folder that was replaced has left behind, and of the branch as it is now; looks at the
    /// disk.
    public nonisolated var wholeStatus: CommitterStatus {
        let complaint = followFolder()
        if complaint == nil {
            lookAtBranch()
            forgetWhatIsGone()
            forgetWhatIsNotStaged()
        }
        var status = status
        // A command may have pushed beside us.
        status.lastPush = [status.lastPush, learnedTime("lastPush")].compactMap(\.self).max()
        status.lastFetch = [status.lastFetch, learnedTime("lastFetch")].compactMap(\.self).max()
        let settled = complaint == nil ? settledCount : 0
        if settled > 0 {
            status.pendingChanges -= min(settled, status.pendingChanges)
            if status.pendingChanges == 0 {
                status.lastError = shared.withLock { $0.headError ?? $0.lookError ?? $0.syncError }
            }
        }
        // Those of the repositories inside the store wait like its own.
        let tops = shared.withLock { $0.nestedTops }
        if complaint == nil { status.unpushedCommits += tops.reduce(0) { $0 + unpushedCount(at: $1) } }
        status.lastError = complaint ?? leftBehindSentence ?? status.lastError
        // A folder that is gone is not a store without a repository: what is saved waits for it.
        if complaint != nil { (status.state, status.isLooking) = (.ready, false) }
        return status
    }

    /// A time that was learned of the store, in seconds since 1970.
    nonisolated func learnedTime(_ fact: String) -> Int64? { store.fact(fact).flatMap { Int64($0) } }

    /// Keeps such a time.
    nonisolated func keep(_ time: Int64, as fact: String) {
        store.remember(String(time), as: fact)
        options.keepFact?(fact, String(time))
    }
}
