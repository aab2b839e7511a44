import CGit
import SystemPackage

/// The branch of a remote that a branch follows.
public struct Upstream: Sendable, Equatable {
    /// The remote's name (`origin`), or its URL where `branch.NAME.remote` holds one.
    public var remote: String
    /// The URL it is fetched from.
    public var url: String
    /// The branch there: `refs/heads/main`.
    public var remoteRef: String
    /// The reference here that remembers where it was: `refs/remotes/origin/main`; nil when nothing is fetched to.
    public var trackingRef: String?
}

extension Repository {
    /// The upstream that is configured for a branch (full name); nil when none is. `onlyRemote` says where a branch
    /// without one could go.
    ///
    /// Neither a git_remote nor git_branch_upstream_name is asked: both look through the configuration for `insteadOf` by
    /// a regular expression (see `ConfigSnapshot`).
    public func upstream(of branchRef: String) throws(GitError) -> Upstream? {
        guard branchRef.hasPrefix("refs/heads/") else { return nil }
        let name = branchRef.dropFirst("refs/heads/".count)
        guard let remote = config("branch.\(name).remote"), remote != ".",
            let merge = config("branch.\(name).merge")
        else { return nil }
        let configured = url(ofRemote: remote)
        guard configured != nil || remote.contains("/") || remote.contains(":") else {
            throw GitError(
                code: .notFound, message: "there is no remote '\(remote)', which branch.\(name).remote names")
        }
        let place = configured ?? located(remote)
        return Upstream(
            remote: configured == nil ? place : remote, url: place, remoteRef: merge,
            trackingRef: configured == nil ? nil : try trackingRef(of: merge, remote: remote))
    }

    /// Where the first `remote.NAME.fetch` that takes a reference puts it.
    private func trackingRef(of remoteRef: String, remote: String) throws(GitError) -> String? {
        for value in try values(of: "remote.\(remote).fetch") {
            var spec: OpaquePointer?
            guard git_refspec_parse(&spec, value, 1) == 0 else { continue }
            defer { git_refspec_free(spec) }
            guard git_refspec_src_matches(spec, remoteRef) == 1, let to = git_refspec_dst(spec),
                to.pointee != 0
            else { continue }
            let bytes = try bufferText("cannot read remote.\(remote).fetch") {
                git_refspec_transform(&$0, spec, remoteRef)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        return nil
    }

    /// The names of the remotes, sorted.
    ///
    /// Not by git_remote_list, which matches names by a regular expression (see `ConfigSnapshot`).
    public func remotes() throws(GitError) -> [String] {
        var names: Set<String> = []
        for variable in try ConfigSnapshot(of: self).variables().map(\.name) {
            for suffix in [".url", ".pushurl"]
            where variable.hasPrefix("remote.") && variable.hasSuffix(suffix) {
                let name = variable.dropFirst("remote.".count).dropLast(suffix.count)
                if !name.isEmpty { names.insert(String(name)) }
            }
        }
        return names.sorted()
    }

    /// The remote to take where none is configured: the only one, or `origin`; nil when that leaves it open.
    public func onlyRemote() throws(GitError) -> String? {
        let names = try remotes()
        return names.count == 1 ? names[0] : names.first { $0 == "origin" }
    }

    /// The URL that a remote is fetched from, of several the first, a path as an absolute one; nil when there is no such
    /// remote.
    public func url(ofRemote name: String) -> String? {
        (try? values(of: "remote.\(name).url"))?.first.map(located)
    }

    /// The URL that a remote is pushed to, a path as an absolute one; nil when there is no such remote.
    public func pushURL(ofRemote name: String) -> String? {
        config("remote.\(name).pushurl").map(located) ?? url(ofRemote: name)
    }

    /// A relative path is one from the top of the working tree, where git(1) goes before it looks at remotes.
    private func located(_ url: String) -> String {
        // What is no path: a scheme, or as in scp(1) a colon before the first slash (urls(7) in git's manual).
        guard !url.hasPrefix("/"), !url.contains("://"), !url.isEmpty,
            !url.prefix(while: { $0 != "/" }).contains(":")
        else { return url }
        return (workingDirectory ?? gitDirectory).pushing(FilePath(url)).string
    }

    /// How many commits of a branch its upstream lacks, as far as the last fetch or push knows; all of them when
    /// nothing is known of the remote branch; nil when the branch has no upstream.
    public func unpushedCount(of branchRef: String) throws(GitError) -> Int? {
        guard let upstream = try upstream(of: branchRef), let tip = try commit(at: branchRef) else {
            return nil
        }
        guard let tracking = upstream.trackingRef, let known = try commit(at: tracking) else {
            return try log(from: tip).count
        }
        return try aheadBehind(local: tip, upstream: known).ahead
    }

    /// A remote by its name, or by a URL or path.
    func remote(_ name: String) throws(GitError) -> Owned {
        if name.contains("/") || name.contains(":"), config("remote.\(name).url") == nil {
            return try Owned("cannot use '\(GitError.withoutPasswords(name))'", free: git_remote_free) {
                git_remote_create_anonymous(&$0, pointer, name)
            }
        }
        return try Owned("cannot use the remote '\(name)'", free: git_remote_free) {
            git_remote_lookup(&$0, pointer, name)
        }
    }
}
