import Git

extension StoreHistory {
    /// Tells of a commit whether the committer made it here, and tells of no rename in it, as it would of one that it had
    /// made (`CommitMessage`). What others push may say anything: this repository's log says what was made here.
    func toldRenames() -> (CommitInfo) -> Bool {
        var made: Set<ObjectID>?
        return { [repository] commit in
            guard CommitMessage.tellsNoRename(commit.message) else { return false }
            let here =
                made
                ?? Set(repository.reflog(of: "HEAD").filter { $0.message.hasPrefix("commit") }.map(\.new))
            made = here
            return here.contains(commit.id)
        }
    }
}
