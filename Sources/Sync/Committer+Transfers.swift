import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

/// Fetches and pushes of one branch, and which program does them.
extension Committer {
    /// Whether the remote's name stands for another URL than the one that was last fetched from.
    func isOtherRemote(_ target: SyncTarget) throws(SyncFailure) -> Bool {
        guard let last = store.fact(target.fact("remote")) else { return false }
        return try !Self.areSame(last, GitError.withoutPasswords(url(target)))
    }

    /// - Parameter isOther: whether it is another remote than the last time.
    /// - Returns: false when the remote has no such branch, and nobody minds.
    func fetch(_ target: SyncTarget, isOther: Bool = false) async throws(SyncFailure) -> Bool {
        setActivity("fetching")
        let repository = try open(target)
        removeLeftLocks(target, repository)
        let before =
            isOther
            ? nil : (try? repository.commit(at: target.knownRef)) ?? (try? known(target, in: repository))
        let isThere = try await transfer(.fetch, target)
        if isOther {
            forgetRewriting(target)
            if let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil {
                try? repository.set(target.seenRef, to: seen)
            }
        }
        store.remember(GitError.withoutPasswords(try url(target)), as: target.fact("remote"))
        if !isThere, sync.choice != .ours, let before = before ?? nil {
            throw SyncFailure(
                kind: .passing,
                message:
                    "the branch on \"\(GitError.withoutPasswords(target.remote))\" is gone; it was last seen at "
                    + "\(before.hex.prefix(10)). Nothing is pushed, as somebody may have removed it on purpose. To put it "
                    + "there again, run passdir sync --ours \(store.name).")
        }
        if target.nested.isEmpty {
            let now = Int64(time(nil))
            store.remember(String(now), as: "lastFetch")
            shared.withLock { $0.status.lastFetch = now }
        }
        if let fetched = (try? repository.commit(at: target.knownRef)) ?? nil, fetched != before ?? nil {
            try checkHistory(fetched, target, repository)
        }
        do throws(GitError) {
            let after = try repository.commit(at: target.knownRef)
            try noteRewriting(target, from: before ?? nil, to: after, in: repository)
            if let after { followInGit(target, repository, after) }
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
        return isThere
    }

    /// A transfer that was killed leaves the locks of our own references behind; nobody else ever takes those. It may
    /// leave that of git's own one, too: it is taken away where it is older than this process, no git program is at
    /// work in the tree, and nobody has it open.
    private func removeLeftLocks(_ target: SyncTarget, _ repository: Repository) {
        if let ref = target.gitRef, let top = repository.workingDirectory, !GitTraffic.isBusy(top) {
            let lock = repository.commonDirectory.pushing(FilePath(ref + ".lock"))
            var facts = stat()
            if lock.withPlatformString({ lstat($0, &facts) }) == 0, facts.st_uid == geteuid(),
                facts.st_mtim.tv_sec <= started, !OpenFiles.include(lock)
            {
                _ = lock.withPlatformString { unlink($0) }
            }
        }
        for ref in [target.knownRef, target.seenRef] {
            let lock = repository.commonDirectory.pushing(FilePath(ref + ".lock"))
            var facts = stat()
            guard lock.withPlatformString({ lstat($0, &facts) }) == 0,
                !OpenFiles.include(lock)
            else { continue }
            _ = lock.withPlatformString { unlink($0) }
        }
    }

    /// Puts our branch in the place of what was last seen there, and of nothing else: who took a branch or commits away, or
    /// moved the branch, may have done so on purpose.
    /// - Parameters:
    ///   - lease: what is there and gives way although ours does not follow it; nil: nothing does.
    ///   - isThere: false where the branch is gone and the user wants it back.
    func push(
        _ target: SyncTarget, replacing lease: ObjectID? = nil, isThere: Bool = true
    ) async throws(SyncFailure) {
        setActivity("pushing")
        let repository = try open(target)
        let tip = try? repository.commit(at: target.localRef)
        Fault.point("sync.before-push")
        let expected = isThere ? lease ?? followed(target, by: tip ?? nil, in: repository) : nil
        try await transfer(.push, target, replacing: expected)
        Fault.point("sync.after-push")
        if let tip {
            try? repository.set(target.knownRef, to: tip)
            followInGit(target, repository, tip, isForced: lease != nil)
        }
        guard target.nested.isEmpty else { return }
        let now = Int64(time(nil))
        store.remember(String(now), as: "lastPush")
        shared.withLock { $0.status.lastPush = now }
        refreshStatus(repository)
    }

    /// What was last seen there, where our tip follows it: a push then replaces it without a loss.
    private func followed(
        _ target: SyncTarget, by tip: ObjectID?, in repository: Repository
    ) -> ObjectID? {
        // A remote that is pushed to elsewhere than it is fetched from may be anywhere.
        guard repository.pushURL(ofRemote: target.remote) == repository.url(ofRemote: target.remote),
            let tip, let known = (try? known(target, in: repository)) ?? nil,
            (try? repository.isAncestor(known, of: tip)) == true
        else { return nil }
        return known
    }

    /// `git status` and its kind go by the reference that `git fetch` keeps. Nobody's fetch may fail because of us,
    /// so it is left as it is where somebody is at work or it leads elsewhere.
    /// - Parameter isForced: the user has chosen that what git's reference leads to is left.
    func followInGit(
        _ target: SyncTarget, _ repository: Repository, _ commit: ObjectID, isForced: Bool = false
    ) {
        defer {
            if let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil {
                try? repository.set(target.seenRef, to: seen)
            }
        }
        guard let ref = target.gitRef, let top = repository.workingDirectory, !GitTraffic.isBusy(top) else {
            return
        }
        let old = try? repository.commit(at: ref)
        if let old = old ?? nil {
            guard old != commit, isForced || (try? repository.isAncestor(old, of: commit)) == true else {
                return
            }
        }
        guard let (_, who) = try? signatures(repository, changed: 0) else { return }
        try? repository.move(ref, from: old ?? nil, to: commit, as: who, "update by passdir")
    }

    /// - Returns: false when the remote has no such branch.
    @discardableResult
    private func transfer(
        _ operation: TransferRequest.Operation, _ target: SyncTarget, replacing lease: ObjectID? = nil
    ) async throws(SyncFailure) -> Bool {
        var request = TransferRequest(
            operation, repository: target.repository, remote: target.remote, localRef: target.localRef,
            remoteRef: target.remoteRef, trackingRef: target.knownRef, transport: options.transport)
        let isOwnServer = try isOnTheStoresServer(target)
        // What is kept for the store's server is no other's to see.
        request.limit = options.transferLimit
        request.lease = lease
        request.offers = isOwnServer || options.offers == .none ? options.offers : .all
        let credentials = isOwnServer ? options.credentials : nil
        if request.transport == .automatic {
            // To a folder libgit2 pushes without a lock, so that of two who push at the same time one is lost, and it
            // runs no hooks there.
            let isFolder = try Self.isFolder(url(target))
            request.transport = isFolder || store.fact(target.fact("transport")) == "git" ? .git : .libgit2
        }
        do throws(TransferFailure) {
            return try await run(request, credentials)
        } catch {
            guard options.transport == .automatic, request.transport == .libgit2,
                try mayNeedGit(error, target)
            else { throw Self.failure(error, operation, target) }
            request.transport = .git
            let isThere: Bool
            do throws(TransferFailure) {
                isThere = try await run(request, credentials)
            } catch let second {
                // The sentence about a host key names its fingerprint; git's does not.
                throw Self.failure(error.code == .certificate ? error : second, operation, target)
            }
            store.remember("git", as: target.fact("transport"))
            log.notice("the git program talks to \"\(target.remote)\", as libgit2 cannot: \(error.message)")
            return isThere
        }
    }

    /// Whether a repository's remote is where the store's own is; a repository inside the store may have any.
    func isOnTheStoresServer(_ target: SyncTarget) throws(SyncFailure) -> Bool {
        if target.nested.isEmpty { return true }
        guard let own = try? currentTarget(FilePath()), let server = Self.server(try url(own)) else {
            return false
        }
        return Self.server(try url(target)) == server
    }

    /// The part of a URL that says whom one talks to, and how: `https://host:443`; nil for a folder.
    private static func server(_ url: String) -> String? {
        guard let known = RemoteURL(url), !known.host.isEmpty else { return nil }
        guard let mark = url.firstRange(of: "://") else { return "ssh://\(known.host)" }
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.split(separator: "@").last ?? authority
        return (url[..<mark.upperBound] + place).lowercased()
    }

    private func run(
        _ request: TransferRequest, _ credentials: (@Sendable (CredentialRequest) -> Credential?)?
    ) async throws(TransferFailure) -> Bool {
        let process = TransferProcess(
            program: options.program, timeout: options.pushTimeout, credentials: credentials,
            progress: { [weak self] progress in self?.noteProgress(request.operation, progress) })
        do throws(TransferFailure) {
            try await process.run(request)
        } catch {
            // Nothing there yet: an empty repository takes our push.
            if request.operation == .fetch, error.code == .noBranch { return false }
            throw error
        }
        return true
    }

    /// Keys that this libssh2 cannot use, hosts that only ssh's configuration knows, shallow clones.
    private func mayNeedGit(_ failure: TransferFailure, _ target: SyncTarget) throws(SyncFailure) -> Bool {
        if failure.code == .unsupported { return true }
        // ssh would offer what libgit2 was not to.
        if options.offers == .none, failure.code == .authentication { return false }
        let url = try url(target)
        let isSSH =
            url.hasPrefix("ssh://") || !url.contains("://") && url.contains(":") && !url.hasPrefix("/")
        return isSSH && [.authentication, .certificate, .network, .other].contains(failure.code)
    }

    private func url(_ target: SyncTarget) throws(SyncFailure) -> String {
        try open(target).url(ofRemote: target.remote) ?? target.remote
    }

    static func isFolder(_ url: String) -> Bool {
        url.hasPrefix("/") || url.hasPrefix("file:") || url.hasPrefix(".") || url.hasPrefix("~")
    }

    private static func failure(
        _ failure: TransferFailure, _ operation: TransferRequest.Operation, _ target: SyncTarget
    ) -> SyncFailure {
        let doing = operation == .push ? "the push to" : "the fetch from"
        let remote = GitError.withoutPasswords(target.remote)
        let hint =
            switch failure.code {
            case .authentication: " It is not tried again before passdir sync or the next mount."
            case .redirected:
                " If the repository has moved there, tell passdir with store reclone --url, or git with remote set-url."
            default: ""
            }
        return SyncFailure(
            kind: .transfer(failure), message: "\(doing) \"\(remote)\" failed: \(failure.message).\(hint)")
    }
}
