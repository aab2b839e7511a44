import Synchronization

extension Committer {
    /// Commits what waits now and pushes it, once; what fails is tried again as always.
    public func settle() async {
        commitPending()
        await push()
    }

    /// The store is shown no longer: as `settle`, and the remote is asked no more before `comeBack`.
    public func leave() async {
        shared.withLock { $0.hasLeft = true }
        regular?.cancel()
        regular = nil
        await settle()
    }

    /// The store is shown again.
    public func comeBack() async {
        shared.withLock { $0.hasLeft = false }
        if hasRepository != nil { await start() }
    }
}
