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
        // What a fetch brought that was not looked at to its end.
        try? repository.remove(target.incomingRef)
        let before =
            isOther
            ? nil : (try? repository.commit(at: target.knownRef)) ?? (try? known(target, in: repository))
        let asked = try url(target)
        Fault.point("sync.before-fetch")
        let isThere = try await transfer(.fetch, target).isThere
        // What came may be another remote's than the one that was compared.
        guard try url(target) == asked else {
            return try await fetch(target, isOther: isOtherRemote(target))
        }
        if isOther {
            forgetRewriting(target)
            if let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil {
                try? repository.set(target.seenRef, to: seen)
            }
        }
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
            keep(now, as: "lastFetch")
            shared.withLock { $0.status.lastFetch = now }
        }
        if isThere { try takeNote(of: before ?? nil, target, repository) }
        // Now what was seen before was this one's.
        store.remember(GitError.withoutPasswords(asked), as: target.fact("remote"))
        return isThere
    }

    /// What was fetched is known from now on, where it is fit to be: else the branch counts as it was seen before, so that
    /// a later fetch still tells whether it was moved by force.
    private func takeNote(
        of before: ObjectID?, _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) {
        defer { try? repository.remove(target.incomingRef) }
        let fetched: ObjectID?
        let ours: ObjectID?
        do throws(GitError) {
            fetched = try repository.commit(at: target.incomingRef)
            ours = try repository.commit(at: target.localRef)
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
        guard let fetched else { return }
        try checkHistory(fetched, known: [ours].compactMap(\.self), target, repository)
        do throws(GitError) {
            try noteRewriting(target, from: before, to: fetched, in: repository)
            try repository.set(target.knownRef, to: fetched)
            followInGit(target, repository, fetched)
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
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
        for ref in [target.knownRef, target.seenRef, target.incomingRef] {
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
        let repository = try open(target)
        try checkDestination(target, repository)
        setActivity("pushing")
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
    private func transfer(
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

    private func url(_ target: SyncTarget) throws(SyncFailure) -> String {
        try open(target).url(ofRemote: target.remote) ?? target.remote
    }

    static func isFolder(_ url: String) -> Bool {
        url.hasPrefix("/") || url.hasPrefix("file:") || url.hasPrefix(".") || url.hasPrefix("~")
    }

    private func failure(
        _ failure: TransferFailure, _ operation: TransferRequest.Operation, _ target: SyncTarget
    ) -> SyncFailure {
        if failure.code == .unsound {
            var refusal = refusal("what the server sent is damaged or not whole: \(failure.message)", target)
            refusal.kind = .unsound
            return refusal
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
