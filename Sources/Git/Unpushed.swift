import CGit

extension Repository {
    /// How many commits, of any branch here or of the stash, no remote branch has, as far as the last fetch or push
    /// knows: what would be lost with this repository.
    public func commitsOnNoRemote() throws(GitError) -> Int {
        let walk = try Owned("cannot read the history", free: git_revwalk_free) { made in
            git_revwalk_new(&made, pointer)
        }
        for glob in ["refs/heads/*", "refs/stash"] {
            try check(git_revwalk_push_glob(walk.pointer, glob), "cannot read the history")
        }
        try check(git_revwalk_hide_glob(walk.pointer, "refs/remotes/*"), "cannot read the history")
        var count = 0
        var id = git_oid()
        while git_revwalk_next(&id, walk.pointer) == 0 { count += 1 }
        return count
    }
}
