import CGit

extension Repository {
    /// How many commits, of any branch here or of the stash, no remote branch has, as far as the last fetch or push
    /// knows: what would be lost with this repository.
    public func commitsOnNoRemote() throws(GitError) -> Int {
        let mine = ["refs/heads/*", "refs/stash"]
        let theirs = "refs/remotes/*"
        if let shallow = try ShallowHistory(self) {
            var tips: [ObjectID] = []
            for glob in mine { tips += try commits(ofReferences: glob) }
            let here = try shallow.reachable(from: tips)
            let there = try shallow.reachable(from: try commits(ofReferences: theirs))
            return here.keys.count { there[$0] == nil }
        }
        let walk = try Owned("cannot read the history", free: git_revwalk_free) { made in
            git_revwalk_new(&made, pointer)
        }
        for glob in mine {
            try check(git_revwalk_push_glob(walk.pointer, glob), "cannot read the history")
        }
        try check(git_revwalk_hide_glob(walk.pointer, theirs), "cannot read the history")
        var count = 0
        var id = git_oid()
        while true {
            let code = git_revwalk_next(&id, walk.pointer)
            if code == GIT_ITEROVER.rawValue { return count }
            try check(code, "cannot read the history")
            count += 1
        }
    }

    /// The commits that the references of these names lead to.
    private func commits(ofReferences glob: String) throws(GitError) -> [ObjectID] {
        let references = try Owned("cannot read the references", free: git_reference_iterator_free) {
            git_reference_iterator_glob_new(&$0, pointer, glob)
        }
        var found: [ObjectID] = []
        while true {
            var name: UnsafePointer<CChar>?
            let code = git_reference_next_name(&name, references.pointer)
            if code == GIT_ITEROVER.rawValue { return found }
            try check(code, "cannot read the references")
            if let name, let commit = try commit(at: String(cString: name)) { found.append(commit) }
        }
    }
}
