import CGit

extension Repository {
    /// Asks a remote what its references lead to at this moment, and gets the objects of its branches and tags that are
    /// not here; no reference of this repository is touched.
    ///
    /// libgit2 has no timeouts: run it in a process that can be killed.
    /// - Parameters:
    ///   - url: the remote's URL or path.
    ///   - listed: told what the references lead to, before anything is transferred.
    /// - Throws: as `push`. What `listed` was told is true nevertheless.
    public func askTips(
        ofRemoteAt url: String, callbacks: TransferCallbacks = .init(), listed: ([ObjectID]) -> Void
    ) throws(GitError) {
        try ask(url, callbacks) { remote, tips, options in
            listed(tips.map(\.id))
            let isMissing = tips.contains { tip in
                Self.transferred.contains { tip.name.hasPrefix($0) } && !has(tip.id)
            }
            // What the remote has beyond us is needed only to see what of ours it contains.
            guard isMissing else { return 0 }
            return withStringArray(Self.transferred.map { "+\($0)*:refs/passdir/\($0.dropFirst(5))*" }) {
                git_remote_download(remote, &$0, &options)
            }
        }
    }

    /// Asks a remote what one of its references leads to; nil when there is none of the name. As `askTips`, without
    /// getting anything.
    public func askTip(
        of ref: String, ofRemoteAt url: String, callbacks: TransferCallbacks = .init()
    ) throws(GitError) -> ObjectID? {
        var found: ObjectID?
        try ask(url, callbacks) { _, tips, _ in
            found = tips.first { $0.name == ref }?.id
            return 0
        }
        return found
    }

    /// Connects to a remote, and lends it with what its references lead to.
    private func ask(
        _ url: String, _ callbacks: TransferCallbacks,
        _ body: (OpaquePointer, [(name: String, id: ObjectID)], inout git_fetch_options) -> Int32
    ) throws(GitError) {
        let handle = try Owned("cannot use '\(GitError.withoutPasswords(url))'", free: git_remote_free) {
            git_remote_create_anonymous(&$0, pointer, url)
        }
        let doing = "cannot ask \(GitError.withoutPasswords(url))"
        var options = git_fetch_options()
        git_fetch_options_init(&options, UInt32(GIT_FETCH_OPTIONS_VERSION))
        options.proxy_opts.type = GIT_PROXY_AUTO
        options.follow_redirects = GIT_REMOTE_REDIRECT_NONE
        var connection = git_remote_connect_options()
        git_remote_connect_options_init(&connection, UInt32(GIT_REMOTE_CONNECT_OPTIONS_VERSION))
        connection.proxy_opts.type = GIT_PROXY_AUTO
        connection.follow_redirects = GIT_REMOTE_REDIRECT_NONE
        try Transfer(callbacks, url: url, proxies: UserConfiguration.proxies(try? ConfigSnapshot(of: self)))
            .run(doing) { remoteCallbacks in
                connection.callbacks = remoteCallbacks
                options.callbacks = remoteCallbacks
                var code = git_remote_connect_ext(handle.pointer, GIT_DIRECTION_FETCH, &connection)
                guard code == 0 else { return code }
                var heads: UnsafeMutablePointer<UnsafePointer<git_remote_head>?>?
                var count = 0
                code = git_remote_ls(&heads, &count, handle.pointer)
                guard code == 0 else { return code }
                let tips = (0..<count).compactMap { index in
                    heads?[index].map {
                        (
                            name: $0.pointee.name.map { String(cString: $0) } ?? "",
                            id: ObjectID($0.pointee.oid)
                        )
                    }
                }
                return body(handle.pointer, tips, &options)
            }
    }

    /// A server may have thousands of others, such as one for each pull request.
    private static let transferred = ["refs/heads/", "refs/tags/"]

    /// Whether an object is here.
    public func has(_ id: ObjectID) -> Bool {
        var database: OpaquePointer?
        guard git_repository_odb(&database, pointer) == 0 else { return false }
        defer { git_odb_free(database) }
        var oid = id.oid
        return git_odb_exists(database, &oid) == 1
    }
}
