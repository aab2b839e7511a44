extension Committer {
    /// Commits what waits now and pushes it, once; what fails is tried again as always.
    public func settle() async {
        commitPending()
        await push()
    }
}
