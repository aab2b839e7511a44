import CGit

extension Repository {
    /// Pushes one reference and, when the server took it, moves the tracking reference.
    ///
    /// libgit2 has no timeouts: where a network is in between, run it in a process that can be killed. To a repository
    /// named by its path it runs no hooks.
    /// - Parameters:
    ///   - remote: a remote's name, or a URL or path.
    ///   - localRef: what is pushed: `refs/heads/main`.
    ///   - remoteRef: its name there.
    /// - Throws: `.nonFastForward` when the remote has commits of its own, `.rejected` with the words of the server when
    ///   it refuses the reference, `.authentication`, `.certificate`, `.network`, `.cancelled`.
    public func push(
        remote: String, localRef: String, remoteRef: String, replacing lease: ObjectID? = nil,
        callbacks: TransferCallbacks = .init()
    ) throws(GitError) {
        let handle = try self.remote(remote)
        var options = git_push_options()
        git_push_options_init(&options, UInt32(GIT_PUSH_OPTIONS_VERSION))
        options.proxy_opts.type = GIT_PROXY_AUTO
        let doing = "cannot push to \(GitError.withoutPasswords(remote))"
        options.follow_redirects = GIT_REMOTE_REDIRECT_NONE
        let url =
            (git_remote_pushurl(handle.pointer) ?? git_remote_url(handle.pointer)).map { String(cString: $0) }
            ?? remote
        let force = lease == nil ? "" : "+"
        try Transfer(
            callbacks, url: url, proxies: UserConfiguration.proxies(try? ConfigSnapshot(of: self)),
            lease: lease
        ).run(doing) { remoteCallbacks in
            options.callbacks = remoteCallbacks
            return withStringArray(["\(force)\(localRef):\(remoteRef)"]) {
                git_remote_push(handle.pointer, &$0, &options)
            }
        }
    }

    /// Fetches from a remote.
    /// - Parameter refspecs: what to fetch; none takes the remote's own from the configuration.
    /// - Returns: the names of the references that the remote has.
    /// - Throws: as `push`.
    @discardableResult
    public func fetch(
        remote: String, refspecs: [String] = [], callbacks: TransferCallbacks = .init()
    ) throws(GitError) -> Set<String> {
        let handle = try self.remote(remote)
        var options = git_fetch_options()
        git_fetch_options_init(&options, UInt32(GIT_FETCH_OPTIONS_VERSION))
        options.proxy_opts.type = GIT_PROXY_AUTO
        let doing = "cannot fetch from \(GitError.withoutPasswords(remote))"
        options.follow_redirects = GIT_REMOTE_REDIRECT_NONE
        let url = git_remote_url(handle.pointer).map { String(cString: $0) } ?? remote
        try Transfer(callbacks, url: url, proxies: UserConfiguration.proxies(try? ConfigSnapshot(of: self)))
            .run(doing) { remoteCallbacks in
                options.callbacks = remoteCallbacks
                // With refspecs of the caller's own, what `git pull` keeps for itself is left alone.
                options.update_fetchhead = refspecs.isEmpty ? 1 : 0
                if !refspecs.isEmpty { options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE }
                return withStringArray(refspecs) { specs in
                    refspecs.isEmpty
                        ? git_remote_fetch(handle.pointer, nil, &options, nil)
                        : git_remote_fetch(handle.pointer, &specs, &options, nil)
                }
            }
        // libgit2 keeps what the server said first; a refspec that nothing matches is no error to it.
        var heads: UnsafeMutablePointer<UnsafePointer<git_remote_head>?>?
        var count = 0
        guard git_remote_ls(&heads, &count, handle.pointer) == 0 else { return [] }
        return Set((0..<count).compactMap { heads?[$0].map { String(cString: $0.pointee.name) } })
    }
}
