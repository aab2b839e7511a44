import Git
import Stores
import SystemPackage

extension Committer {
    /// The counterpart of a branch: its upstream, or, where it has none, the branch of the same name on the only
    /// remote; nil where there is none.
    nonisolated func target(
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
            incomingRef: "refs/passdir/incoming/\(name)/\(branch)",
            seenRef: "refs/passdir/seen/\(name)/\(branch)", gitRef: gitRef)
    }

    /// Where the configuration says something else of the store's remote or branch than the repository, whose word holds;
    /// each a sentence.
    nonisolated func disagreements(with repository: Repository, branch: String) -> [String] {
        var found: [String] = []
        if let wanted = options.configuredBranch, wanted != branch {
            found.append(
                "the configuration names the branch \(wanted), but \(branch) is checked out and committed to: "
                    + "passdir store reclone \(ShellWord.quoted(store.name)) --branch \(wanted) changes that")
        }
        let target = (try? target(of: "refs/heads/\(branch)", in: repository)) ?? nil
        let url = target.map { repository.url(ofRemote: $0.remote) ?? $0.remote }
        if let wanted = options.configuredURL, let url, !Self.areSame(wanted, url) {
            found.append(
                "the configuration names the remote \(GitError.cleanedURL(wanted)), but the repository's, which is used, "
                    + "is \(GitError.cleanedURL(url)): passdir store reclone \(ShellWord.quoted(store.name)) changes that"
            )
        }
        return found
    }

    /// Whether two URLs differ at most in user and password.
    static func areSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let one = RemoteURL(one), let other = RemoteURL(other) else { return false }
        func bare(_ url: RemoteURL) -> String {
            guard let at = url.text.firstIndex(of: "@"), url.isHTTP || url.isSSH else { return url.text }
            let scheme = url.text.firstRange(of: "://").map { url.text[..<$0.upperBound] } ?? ""
            return String(scheme + url.text[url.text.index(after: at)...])
        }
        return bare(one) == bare(other)
    }

    private static func short(_ ref: String) -> String {
        ref.hasPrefix("refs/heads/") ? String(ref.dropFirst("refs/heads/".count)) : ref
    }

    /// What the remote branch was last seen at, by us or by git, whoever looked later; nil when nobody has seen it.
    nonisolated func known(_ target: SyncTarget, in repository: Repository) throws(GitError) -> ObjectID? {
        let ours = try repository.commit(at: target.knownRef)
        guard let gitRef = target.gitRef, let gits = try repository.commit(at: gitRef) else { return ours }
        guard let ours, try repository.commit(at: target.seenRef) == gits else { return gits }
        return ours
    }

    /// How many commits of a branch its remote lacks; 0 where there is no remote.
    nonisolated func unpushedCount(
        _ ref: String, _ tip: ObjectID?, in repository: Repository
    ) throws(GitError) -> Int {
        guard let tip, let target = try target(of: ref, in: repository) else { return 0 }
        guard let known = try known(target, in: repository) else {
            return try repository.log(from: tip).count
        }
        return try repository.aheadBehind(local: tip, upstream: known).ahead
    }
}
