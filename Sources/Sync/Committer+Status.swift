import Glibc
import Stores
public import SystemPackage

/// What others ask a committer, on whatever thread.
extension Committer {
    /// What is known right now; does not wait for work that is going on.
    public nonisolated var status: CommitterStatus { state.status }

    /// As `status`, with what a folder that was replaced has left behind, and of the branch as it is now; looks at the
    /// disk.
    public nonisolated var wholeStatus: CommitterStatus { state.wholeStatus }

    /// What is not committed or not pushed, or lies in a folder that was replaced, as sentences, the last one without a full
    /// stop; nil when all is. Looks at the disk, and waits for no work that goes on.
    public nonisolated var unsharedSentence: String? { state.unsharedSentence }

    /// Whether a file of the store is one that git ignores, as far as it was looked at.
    public nonisolated func isIgnored(_ path: FilePath) -> Bool {
        state.withLock { $0.ignored.contains(path) }
    }

    /// Files with our versions of secrets that were changed on both sides, as far as this machine made them, and those of
    /// others that it merged.
    public nonisolated var conflicts: [FilePath] { ConflictList(store).known }

    /// Files with our versions of secrets that merges kept beside the remote's since the store is open, also those that are
    /// settled; more only come behind them.
    public nonisolated var keptTwice: [FilePath] { state.withLock { $0.keptTwice } }

    /// The secrets that a merge has left encrypted to others than their recipients, relative to the store. Looks at the disk.
    public nonisolated var drift: [FilePath] { DriftList(store).review() }

    /// Follows the store's folder, and sets aside what was noted for another one.
    /// - Returns: why there is no folder to save to, as one sentence; nil when there is one.
    @discardableResult
    public nonisolated func followFolder() -> String? { state.followFolder() }

    /// Brings the status in step with the store's own repository where others have moved its branch, or made or removed
    /// the repository; commits of others are pushed as ours are. Opens the repository and reads two references; no network.
    public nonisolated func lookAtBranch() { state.lookAtBranch() }

    /// As `lookAtBranch()`, after the work that is going on.
    /// - Parameter isStash: whether a stash was made or removed; what a popped one has brought back is committed.
    public func branchMayHaveMoved(isStash: Bool) async {
        if isStash { state.withLock { $0.lastStash = Int64(time(nil)) } }
        state.lookAtBranch()
        if isStash { await lookAfterStash() }
    }
}
