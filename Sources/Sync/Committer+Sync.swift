import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Brings store and remote together now: fetches, merges, pushes. Returns when that is done or has failed.
    /// - Returns: what went wrong, as one sentence; nil when all is well or there is no remote.
    public func synchronizeNow() async -> String? {
        sync.waitsForUser = []
        // "In step" is said of the working tree, too: what git or others left there is committed, as at the start.
        if options.recovers, hasLooked { _ = await lookForUncommitted() }
        commitPending()
        await synchronize(.everything)
        while sync.isRunning { await withCheckedContinuation { sync.waiting.append($0) } }
        return shared.withLock { $0.commitError ?? $0.syncError }
    }

    /// Pushes what the remote does not have; returns when that is done or has failed.
    func push() async {
        await synchronize(.push)
    }

    /// Fetches every now and then, until the end.
    func synchronizeRegularly() async {
        guard let interval = options.interval else { return }
        while !shared.withLock({ $0.isFinishing }) {
            try? await Task.sleep(for: interval)
            guard !shared.withLock({ $0.isFinishing }) else { continue }
            await synchronize(.everything)
        }
    }

    /// One at a time; what is asked for meanwhile follows.
    func synchronize(_ request: SyncState.Request) async {
        guard !sync.isRunning else {
            sync.next = max(sync.next?.rawValue ?? 0, request.rawValue) > 0 ? .everything : .push
            return
        }
        sync.isRunning = true
        var now: SyncState.Request? = request
        while let request = now {
            sync.next = nil
            do throws(SyncFailure) {
                try await bringAllTogether(fetching: request == .everything)
                noteSuccess()
                now = sync.next
            } catch {
                noteFailure(error)
                now = nil
            }
        }
        sync.isRunning = false
        setActivity(nil)
        for waiting in sync.waiting { waiting.resume() }
        sync.waiting = []
    }

    /// The store's own repository and those inside it, each with its own remote; one that cannot keeps no other from
    /// it.
    /// - Throws: what keeps the first of them apart from its remote.
    private func bringAllTogether(fetching: Bool) async throws(SyncFailure) {
        let places = [FilePath()] + nestedTops
        for place in places where !sync.waitsForUser.contains(place) {
            do throws(SyncFailure) {
                try await bringTogether(place, fetching: fetching)
                sync.complaints[place] = nil
            } catch {
                var failure = error
                if !place.isEmpty { failure.message = "\(place): \(failure.message)" }
                sync.complaints[place] = failure
                if failure.needsUser { sync.waitsForUser.insert(place) }
            }
        }
        for place in places { if let complaint = sync.complaints[place] { throw complaint } }
    }

    private func bringTogether(_ place: FilePath, fetching: Bool) async throws(SyncFailure) {
        do throws(GitError) {
            // A store may be asked for before its committer was started.
            if let share = try repository(at: place) { try mend(share) }
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot reach the remote: \(error.message).")
        }
        var mustFetch = fetching
        for round in 0..<20 {
            guard let target = try currentTarget(place) else { return }
            if mustFetch {
                try await fetch(target)
                mustFetch = false
            }
            commitPending()
            try await integrate(target)
            guard try mustPush(target) else { return }
            do throws(SyncFailure) {
                try await push(target)
                return
            } catch {
                guard case .transfer(let failure) = error.kind, failure.code == .nonFastForward else {
                    throw error
                }
                // Somebody else was faster.
                mustFetch = true
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0...(50 * (round + 1)))))
            }
        }
        throw SyncFailure(
            kind: .passing,
            message: "others push to the remote faster than this store can follow; it tries again.")
    }

    private func currentTarget(_ place: FilePath) throws(SyncFailure) -> SyncTarget? {
        do throws(GitError) {
            guard let share = try repository(at: place),
                case .branch(_, let ref, _) = try share.repository.head()
            else {
                return nil
            }
            return try target(of: ref, in: share.repository, nested: place)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot reach the remote: \(error.message).")
        }
    }

    func open(_ target: SyncTarget) throws(SyncFailure) -> Repository {
        do throws(GitError) {
            guard let share = try repository(at: target.nested),
                share.repository.gitDirectory == target.repository
            else {
                throw GitError(code: .notFound, message: "the repository \(target.repository) is gone")
            }
            return share.repository
        } catch {
            throw SyncFailure(kind: .passing, message: "\(error.message).")
        }
    }

    private func mustPush(_ target: SyncTarget) throws(SyncFailure) -> Bool {
        let repository = try open(target)
        do throws(GitError) {
            guard let tip = try repository.commit(at: target.localRef) else { return false }
            guard let known = try known(target, in: repository) else { return true }
            if known == tip { return false }
            return try !repository.isAncestor(tip, of: known)
        } catch {
            throw SyncFailure(kind: .passing, message: "cannot push: \(error.message).")
        }
    }

    // MARK: transfers

    private func fetch(_ target: SyncTarget) async throws(SyncFailure) {
        setActivity("fetching")
        let repository = try open(target)
        removeLeftLocks(target, repository)
        let before = (try? repository.commit(at: target.knownRef)) ?? (try? known(target, in: repository))
        let isThere = try await transfer(.fetch, target)
        if !isThere, let before = before ?? nil {
            throw SyncFailure(
                kind: .passing,
                message:
                    "the branch on \"\(GitError.withoutPasswords(target.remote))\" is gone; it was last seen at "
                    + "\(before.hex.prefix(10)). Nothing is pushed, as somebody may have removed it on purpose. To put it "
                    + "there again, run git push \(target.remote) \(target.branch) in "
                    + "\(store.root.path.pushing(target.nested)).")
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

    private func push(_ target: SyncTarget) async throws(SyncFailure) {
        setActivity("pushing")
        let repository = try open(target)
        let tip = try? repository.commit(at: target.localRef)
        Fault.point("sync.before-push")
        try await transfer(.push, target)
        Fault.point("sync.after-push")
        if let tip {
            try? repository.set(target.knownRef, to: tip)
            followInGit(target, repository, tip)
        }
        guard target.nested.isEmpty else { return }
        let now = Int64(time(nil))
        store.remember(String(now), as: "lastPush")
        shared.withLock { $0.status.lastPush = now }
        refreshStatus(repository)
    }

    /// `git status` and its kind go by the reference that `git fetch` keeps. Nobody's fetch may fail because of us,
    /// so it is left as it is where somebody is at work or it leads elsewhere.
    private func followInGit(_ target: SyncTarget, _ repository: Repository, _ commit: ObjectID) {
        defer {
            if let ref = target.gitRef, let seen = (try? repository.commit(at: ref)) ?? nil {
                try? repository.set(target.seenRef, to: seen)
            }
        }
        guard let ref = target.gitRef, let top = repository.workingDirectory, !GitTraffic.isBusy(top) else {
            return
        }
        let old = try? repository.commit(at: ref)
        if let old = old ?? nil, old == commit || (try? repository.isAncestor(old, of: commit)) != true {
            return
        }
        guard let (_, who) = try? signatures(repository, changed: 0) else { return }
        try? repository.move(ref, from: old ?? nil, to: commit, as: who, "update by passdir")
    }

    /// - Returns: false when the remote has no such branch.
    @discardableResult
    private func transfer(
        _ operation: TransferRequest.Operation, _ target: SyncTarget
    ) async throws(SyncFailure) -> Bool {
        var request = TransferRequest(
            operation, repository: target.repository, remote: target.remote, localRef: target.localRef,
            remoteRef: target.remoteRef, trackingRef: target.knownRef, transport: options.transport)
        let isOwnServer = try isOnTheStoresServer(target)
        // What is kept for the store's server is no other's to see.
        request.limit = options.transferLimit
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

    // MARK: what the user sees

    func setActivity(_ text: String?) {
        shared.withLock { $0.status.activity = text }
    }

    private nonisolated func noteProgress(
        _ operation: TransferRequest.Operation, _ progress: TransferProgress
    ) {
        let doing = operation == .push ? "pushing" : "fetching"
        shared.withLock {
            $0.status.activity =
                progress.totalObjects > 0
                ? "\(doing) \(progress.objects) of \(progress.totalObjects) objects" : doing
        }
    }

    private func noteSuccess() {
        sync.failures = 0
        shared.withLock { $0.syncError = nil }
        if sync.hasComplained {
            sync.hasComplained = false
            options.notify(store.name, "The store \"\(store.name)\" is in step with its remote again.")
        }
        do throws(GitError) {
            if let own = try ownRepository() {
                refreshStatus(own.repository)
            } else {
                noteMissingRepository()
            }
        } catch {
            log.warning("the state of the repository cannot be read: \(error.message)")
        }
    }

    private func noteFailure(_ failure: SyncFailure) {
        sync.failures += 1
        shared.withLock { $0.syncError = failure.message }
        log.warning("\(failure.message)")
        if let share = try? ownRepository() { refreshStatus(share.repository) }
        guard !shared.withLock({ $0.isFinishing }) else { return }
        // Two in a row: a network that is away for a moment is no news.
        var isPassing = false
        var longest = 900
        switch failure.kind {
        case .transfer(let transfer) where transfer.code == .network || transfer.code == .timedOut:
            isPassing = true
            // Nothing tells that the network is back; asking every two minutes costs little.
            longest = 120
        case .transfer, .passing, .lasting: break
        }
        if !sync.hasComplained, !isPassing || sync.failures > 1 {
            sync.hasComplained = true
            options.notify(store.name, failure.message)
        }
        // For the others somebody must do something first.
        guard sync.complaints.keys.contains(where: { !sync.waitsForUser.contains($0) }) else { return }
        let wait = min(10 << min(sync.failures - 1, 7), longest)
        Task {
            try? await Task.sleep(for: .seconds(wait) + .milliseconds(Int.random(in: 0...2000)))
            if self.sync.failures > 0, !self.shared.withLock({ $0.isFinishing }) {
                await self.synchronize(.everything)
            }
        }
    }
}
