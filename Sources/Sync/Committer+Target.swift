import Git
import SystemPackage

extension Committer {
    /// The counterpart of a branch: its upstream, or, where it has none, the branch of the same name on the only
    /// remote; nil where there is none.
    func target(
        of ref: String, in repository: Repository, nested: FilePath = FilePath()
    ) throws(GitError) -> SyncTarget? {
        let remote: String
        let remoteRef: String
        var gitRef: String?
        if let upstream = try repository.upstream(of: ref) {
            (remote, remoteRef, gitRef) = (upstream.remote, upstream.remoteRef, upstream.trackingRef)
        } else if let only = try repository.onlyRemote() {
            (remote, remoteRef) = (only, ref)
        } else {
            return nil
        }
        let branch = Self.short(remoteRef)
        if gitRef == nil, repository.url(ofRemote: remote) != nil {
            gitRef = "refs/remotes/\(remote)/\(branch)"
        }
        // A URL cannot be part of a reference's name.
        let name = repository.url(ofRemote: remote) == nil ? "url" : remote
        return SyncTarget(
            nested: nested, repository: repository.gitDirectory, branch: Self.short(ref), localRef: ref,
            remote: remote,
            remoteRef: remoteRef, knownRef: "refs/passdir/remotes/\(name)/\(branch)",
            seenRef: "refs/passdir/seen/\(name)/\(branch)", gitRef: gitRef)
    }

    private static func short(_ ref: String) -> String {
        ref.hasPrefix("refs/heads/") ? String(ref.dropFirst("refs/heads/".count)) : ref
    }

    /// What the remote branch was last seen at, by us or by git, whoever looked later; nil when nobody has seen it.
    func known(_ target: SyncTarget, in repository: Repository) throws(GitError) -> ObjectID? {
        let ours = try repository.commit(at: target.knownRef)
        guard let gitRef = target.gitRef, let gits = try repository.commit(at: gitRef) else { return ours }
        guard let ours, try repository.commit(at: target.seenRef) == gits else { return gits }
        return ours
    }

    /// How many commits of a branch its remote lacks; 0 where there is no remote.
    func unpushedCount(
        _ ref: String, _ tip: ObjectID?, in repository: Repository
    ) throws(GitError) -> Int {
        guard let tip, let target = try target(of: ref, in: repository) else { return 0 }
        guard let known = try known(target, in: repository) else {
            return try repository.log(from: tip).count
        }
        return try repository.aheadBehind(local: tip, upstream: known).ahead
    }
}
