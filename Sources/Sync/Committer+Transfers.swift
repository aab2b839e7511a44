import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

/// Pushes of one branch, and which program does a transfer.
extension Committer {
    /// Puts our branch in the place of what was last seen there, and of nothing else: who took a branch or commits away, or
    /// moved the branch, may have done so on purpose.
    /// - Parameters:
    ///   - lease: what is there and gives way although ours does not follow it; nil: nothing does.
    ///   - isThere: false where the branch is gone and the user wants it back.
    func push(
        _ target: SyncTarget, replacing lease: ObjectID? = nil, isThere: Bool = true
    ) async throws(SyncFailure) {
        let repository = try open(target)
        try checkDestination(target, repository)
        setActivity("pushing")
        let tip = try? repository.commit(at: target.localRef)
        Fault.point("sync.before-push")
        let expected = isThere ? lease ?? followed(target, by: tip ?? nil, in: repository) : nil
        try await transfer(.push, target, replacing: expected)
        Fault.point("sync.after-push")
        // What went there is what the branch led to then, which the user may have moved meanwhile: the next fetch tells.
        if let tip, (try? repository.commit(at: target.localRef)) == tip {
            try? repository.set(target.knownRef, to: tip)
            followInGit(target, repository, tip, isForced: lease != nil)
        }
        guard target.nested.isEmpty else { return }
        let now = Int64(time(nil))
        keep(now, as: "lastPush")
        shared.withLock { $0.status.lastPush = now }
        refreshStatus(repository)
    }

    /// Nothing is pushed where the user's `git push` would not go: who set it up so may not want it there.
    private func checkDestination(_ target: SyncTarget, _ repository: Repository) throws(SyncFailure) {
        let objection: String?
        do throws(GitError) {
            objection = try repository.objectionToPush(
                target.localRef, to: target.remote, as: target.remoteRef)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot push: \(error.message).")
        }
        guard let objection else { return }
        throw SyncFailure(
            kind: .lasting,
            message:
                "nothing is pushed, because git push would not do what passdir does: \(objection). Push with git, or "
                + "change that in \(store.root.path.pushing(target.nested)).")
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

    /// What the branch on the remote leads to at this moment; nil when there is no such branch.
    func ask(_ target: SyncTarget) async throws(SyncFailure) -> ObjectID? {
        try await transfer(.ask, target).tip
    }

    /// - Returns: whether the remote has such a branch; and what it leads to, where that is asked.
    @discardableResult
    func transfer(
        _ operation: TransferRequest.Operation, _ target: SyncTarget, replacing lease: ObjectID? = nil
    ) async throws(SyncFailure) -> (isThere: Bool, tip: ObjectID?) {
        var request = TransferRequest(
            operation, repository: target.repository, remote: target.remote, localRef: target.localRef,
            remoteRef: target.remoteRef, trackingRef: target.incomingRef, transport: options.transport)
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
            else { throw failure(error, operation, target) }
            request.transport = .git
            let answer: (isThere: Bool, tip: ObjectID?)
            do throws(TransferFailure) {
                answer = try await run(request, credentials)
            } catch let second {
                // The sentence about a host key names its fingerprint; git's does not.
                throw failure(error.code == .certificate ? error : second, operation, target)
            }
            store.remember("git", as: target.fact("transport"))
            log.notice("the git program talks to \"\(target.remote)\", as libgit2 cannot: \(error.message)")
            return answer
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
    ) async throws(TransferFailure) -> (isThere: Bool, tip: ObjectID?) {
        let process = TransferProcess(
            program: options.program, timeout: options.pushTimeout, credentials: credentials,
            progress: { [weak self] progress in self?.noteProgress(request.operation, progress) })
        do throws(TransferFailure) {
            return (true, try await process.run(request))
        } catch {
            // Nothing there yet: an empty repository takes our push.
            if request.operation != .push, error.code == .noBranch { return (false, nil) }
            throw error
        }
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

    func url(_ target: SyncTarget) throws(SyncFailure) -> String {
        try open(target).url(ofRemote: target.remote) ?? target.remote
    }

    static func isFolder(_ url: String) -> Bool {
        url.hasPrefix("/") || url.hasPrefix("file:") || url.hasPrefix(".") || url.hasPrefix("~")
    }

    private func failure(
        _ failure: TransferFailure, _ operation: TransferRequest.Operation, _ target: SyncTarget
    ) -> SyncFailure {
        if failure.code == .unsound {
            return refusal(
                "what the server sent is damaged or not whole: \(failure.message)", target, kind: .unsound)
        }
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
