import CGit
import Glibc

extension Repository {
    /// What a commit says. Where the history of a shallow clone was cut off, it has no parents.
    public func commitInfo(_ id: ObjectID) throws(GitError) -> CommitInfo {
        try commitInfo(id, cutAt: isShallow ? ShallowHistory.boundary(of: self) : [])
    }

    /// - Parameter boundary: the commits whose parents are not there.
    func commitInfo(_ id: ObjectID, cutAt boundary: Set<ObjectID>) throws(GitError) -> CommitInfo {
        var oid = id.oid
        let commit = try Owned("cannot read commit \(id)", free: git_commit_free) {
            git_commit_lookup(&$0, pointer, &oid)
        }
        let count = boundary.contains(id) ? 0 : git_commit_parentcount(commit.pointer)
        return CommitInfo(
            id: id, tree: ObjectID(git_commit_tree_id(commit.pointer).pointee),
            parents: (0..<count).map { ObjectID(git_commit_parent_id(commit.pointer, $0).pointee) },
            author: Signature(git_commit_author(commit.pointer).pointee),
            committer: Signature(git_commit_committer(commit.pointer).pointee),
            message: Self.message(git_commit_message(commit.pointer)))
    }

    /// A history of long messages would fill the memory of whoever lists it.
    private static func message(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let count = strnlen(text, CommitInfo.longestMessage)
        return String(decoding: UnsafeRawBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The commits reachable from `tip`, newest first, children before parents.
    /// - Parameters:
    ///   - hidden: commits whose own history is left out.
    ///   - limit: how many at most.
    public func log(
        from tip: ObjectID, hiding hidden: [ObjectID] = [], limit: Int = .max
    ) throws(GitError) -> [CommitInfo] {
        if let shallow = try ShallowHistory(self) {
            return try shallow.log(from: tip, hiding: hidden, limit: limit)
        }
        let sorting = GIT_SORT_TOPOLOGICAL.rawValue | GIT_SORT_TIME.rawValue
        return try walk(from: tip, hiding: hidden, sorting: sorting, atMost: limit)
            .map { id throws(GitError) in try commitInfo(id, cutAt: []) }
    }

    /// As `log`, one commit after the other, until `body` returns false: of those behind it nothing but their order is read.
    public func visitLog(
        from tip: ObjectID, _ body: (CommitInfo) throws(GitError) -> Bool
    ) throws(GitError) {
        if let shallow = try ShallowHistory(self) {
            for commit in try shallow.log(from: tip, hiding: [], limit: .max) {
                guard try body(commit) else { return }
            }
            return
        }
        let sorting = GIT_SORT_TOPOLOGICAL.rawValue | GIT_SORT_TIME.rawValue
        for id in try walk(from: tip, sorting: sorting) {
            guard try body(try commitInfo(id, cutAt: [])) else { return }
        }
    }

    /// Whether at most `limit` commits are reachable from `tip`; looks at no more than that.
    func hasHistory(of tip: ObjectID, atMost limit: Int) throws(GitError) -> Bool {
        try walk(from: tip, atMost: limit + 1).count <= limit
    }

    /// The first commits reachable from `tip` and from none of the hidden ones. Where a shallow clone was cut off it fails.
    func walk(
        from tip: ObjectID, hiding hidden: [ObjectID] = [], sorting: UInt32 = GIT_SORT_NONE.rawValue,
        atMost limit: Int = .max
    ) throws(GitError) -> [ObjectID] {
        let walk = try Owned("cannot walk the history", free: git_revwalk_free) {
            git_revwalk_new(&$0, pointer)
        }
        git_revwalk_sorting(walk.pointer, sorting)
        var oid = tip.oid
        try check(git_revwalk_push(walk.pointer, &oid), "cannot walk the history from \(tip)")
        for id in hidden {
            oid = id.oid
            try check(git_revwalk_hide(walk.pointer, &oid), "cannot leave out the history of \(id)")
        }
        var found: [ObjectID] = []
        while found.count < limit {
            let code = git_revwalk_next(&oid, walk.pointer)
            if code == GIT_ITEROVER.rawValue { break }
            try check(code, "cannot walk the history from \(tip)")
            found.append(ObjectID(oid))
        }
        return found
    }

    /// The best common ancestor of two commits; nil when they share no history.
    public func mergeBase(_ one: ObjectID, _ two: ObjectID) throws(GitError) -> ObjectID? {
        if let shallow = try ShallowHistory(self) { return try shallow.mergeBase(one, two) }
        var base = git_oid()
        var (first, second) = (one.oid, two.oid)
        let code = git_merge_base(&base, pointer, &first, &second)
        if isAbsent(code) { return nil }
        try check(code, "cannot find the common ancestor of \(one) and \(two)")
        return ObjectID(base)
    }

    /// Whether `ancestor` is `descendant` or in its history.
    public func isAncestor(_ ancestor: ObjectID, of descendant: ObjectID) throws(GitError) -> Bool {
        if ancestor == descendant { return true }
        if let shallow = try ShallowHistory(self) { return try shallow.isAncestor(ancestor, of: descendant) }
        var (child, parent) = (descendant.oid, ancestor.oid)
        let code = git_graph_descendant_of(pointer, &child, &parent)
        try check(code, "cannot compare \(ancestor) with \(descendant)")
        return code == 1
    }

    /// How many commits each side has that the other lacks.
    public func aheadBehind(local: ObjectID, upstream: ObjectID) throws(GitError) -> (ahead: Int, behind: Int)
    {
        if let shallow = try ShallowHistory(self) {
            return try shallow.aheadBehind(local: local, upstream: upstream)
        }
        var (ahead, behind) = (0, 0)
        var (one, two) = (local.oid, upstream.oid)
        try check(
            git_graph_ahead_behind(&ahead, &behind, pointer, &one, &two),
            "cannot compare \(local) with \(upstream)")
        return (ahead, behind)
    }
}
