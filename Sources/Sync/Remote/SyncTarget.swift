import Git
import Stores
import SystemPackage

/// A branch and its counterpart on a remote.
struct SyncTarget: Sendable {
    /// The repository's top below the store's folder, for one inside the store; empty for the store's own.
    var nested: FilePath
    /// The git folder.
    var repository: FilePath
    /// The name of the branch here.
    var branch: String
    /// Its full name.
    var localRef: String
    /// The remote's name or URL.
    var remote: String
    /// The branch there.
    var remoteRef: String
    /// Where we keep what was last seen there: ours alone, so that no `git fetch` of the user fails because of us.
    var knownRef: String
    /// Where a fetch puts what it brought until that was looked at.
    var incomingRef: String
    /// Where git's own reference stood when we last looked at the remote: when it has moved, git has looked later.
    var seenRef: String
    /// Where git keeps it; nil where it does not.
    var gitRef: String?
}

extension SyncTarget {
    /// The counterpart of a branch: its upstream, or, where it has none, the branch of the same name on the only
    /// remote; nil where there is none.
    init?(of ref: String, in repository: Repository, nested: FilePath = FilePath()) throws(GitError) {
        if let upstream = try repository.upstream(of: ref) {
            (remote, remoteRef, gitRef) = (upstream.remote, upstream.remoteRef, upstream.trackingRef)
        } else if let only = try repository.onlyRemote() {
            (remote, remoteRef) = (only, ref)
        } else {
            return nil
        }
        let theirs = Self.short(remoteRef)
        // A URL cannot be part of a reference's name.
        let name = repository.url(ofRemote: remote) == nil ? "url" : remote
        if gitRef == nil, name == remote { gitRef = "refs/remotes/\(remote)/\(theirs)" }
        self.nested = nested
        self.repository = repository.gitDirectory
        branch = Self.short(ref)
        localRef = ref
        knownRef = "refs/passdir/remotes/\(name)/\(theirs)"
        incomingRef = "refs/passdir/incoming/\(name)/\(theirs)"
        seenRef = "refs/passdir/seen/\(name)/\(theirs)"
    }

    private static func short(_ ref: String) -> String {
        ref.hasPrefix("refs/heads/") ? String(ref.dropFirst("refs/heads/".count)) : ref
    }

    /// The name under which something is remembered of this repository.
    func fact(_ name: String) -> String { nested.isEmpty ? name : "\(name) \(nested)" }

    /// What the remote branch was last seen at, by us or by git, whoever looked later; nil when nobody has seen it.
    func known(in repository: Repository) throws(GitError) -> ObjectID? {
        let ours = try repository.commit(at: knownRef)
        guard let gitRef, let gits = try repository.commit(at: gitRef) else { return ours }
        guard let ours, try repository.commit(at: seenRef) == gits else { return gits }
        return ours
    }

    /// How many commits of a branch its remote lacks; 0 where there is no remote.
    static func unpushedCount(
        _ ref: String, _ tip: ObjectID?, in repository: Repository
    ) throws(GitError) -> Int {
        guard let tip, let target = try SyncTarget(of: ref, in: repository) else { return 0 }
        guard let known = try target.known(in: repository) else { return try repository.log(from: tip).count }
        return try repository.aheadBehind(local: tip, upstream: known).ahead
    }
}

extension RemoteURL {
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
}
