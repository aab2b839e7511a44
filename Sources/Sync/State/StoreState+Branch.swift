import Git
import Logging
import Stores
import SystemPackage

/// What is told of the branch. Others move it, too: whoever asks looks at it, on whatever thread.
extension StoreState {
    /// What decides about the status of a branch: as long as it is the same, nothing has to be counted anew.
    struct SeenBranch: Sendable, Equatable {
        var gitDirectory: FilePath
        var head: Head
        /// What the user has begun and not finished; nil: nothing.
        var operation: String?
        /// What the remote branch was last seen at.
        var known: ObjectID?
        /// The newest stash.
        var stash: ObjectID?

        /// Whether nothing can be committed before the user has done something in git.
        var isHeld: Bool {
            if case .detached = head { return true }
            return operation != nil
        }
    }

    /// Reads branch, newest commit and what is not pushed yet, where it is the store's own repository: the status is of that.
    func refreshStatus(_ part: RepositoryPart) {
        guard part.nested.isEmpty else { return }
        do throws(GitError) {
            refreshStatus(part.repository, try seen(part.repository))
        } catch {
            cannotRead(error)
        }
    }

    /// As above; `status` says so where there is none.
    func refreshStatus() {
        do throws(GitError) {
            guard let own = try ownRepository() else { return noteMissingRepository() }
            refreshStatus(own)
        } catch {
            cannotRead(error)
        }
    }

    private func cannotRead(_ error: GitError) {
        log.warning("cannot read the state of the repository: \(error.message)")
    }

    /// The store has no repository of its own that is opened; where there is one that is not, `status` says why.
    func noteMissingRepository() {
        let repositories = store.repositories
        let note =
            repositories.reasonToLeaveTopAlone
            ?? repositories.outer.map {
                "the store is inside the repository \($0), which passdir leaves alone: nothing is committed"
            }
        withLock {
            $0.seen = nil
            $0.status.state = .noRepository
            $0.status.branch = nil
            $0.status.remote = nil
            $0.status.notes = [note].compactMap(\.self)
        }
    }

    /// Brings the status in step with the store's own repository where others have moved its branch, or made or removed
    /// the repository; commits of others are pushed as ours are. Opens the repository and reads two references; no network.
    func lookAtBranch() {
        let (before, last, wasHeld) = withLock {
            ($0.seen, $0.status.state, $0.unfinished.contains(FilePath()))
        }
        // Nothing of a store is looked at before it is used.
        guard store.root.isOpen, last != .starting else { return }
        let isNew: Bool
        do throws(GitError) {
            guard let own = try ownRepository() else {
                if before != nil { noteMissingRepository() }
                return
            }
            let now = try seen(own.repository)
            isNew = now != before
            lookForResetCommit(own.repository, now.head)
            if isNew || now.isHeld != wasHeld { refreshStatus(own.repository, now) }
            // What was seen may have been noted by work of ours that did not go on to push it.
            guard case .branch(_, _, let tip?) = now.head,
                withLock({ $0.status.unpushedCommits > 0 && $0.offered != tip })
            else { return }
        } catch {
            return cannotRead(error)
        }
        pushSoon(afterChange: isNew)
    }

    /// An exchange with the remote begins, for this tip of the store's own branch.
    func noteOffered(_ part: RepositoryPart) {
        guard part.nested.isEmpty, case .branch(_, _, let tip?) = try? part.repository.head() else { return }
        withLock { $0.offered = tip }
    }

    private func seen(_ repository: Repository) throws(GitError) -> SeenBranch {
        let head = try repository.head()
        var known: ObjectID?
        if case .branch(_, let ref, .some) = head, let target = try SyncTarget(of: ref, in: repository) {
            known = try target.known(in: repository)
        }
        return SeenBranch(
            gitDirectory: repository.gitDirectory, head: head, operation: repository.operation, known: known,
            stash: try? repository.commit(at: "refs/stash"))
    }

    private func refreshStatus(_ repository: Repository, _ seen: SeenBranch) {
        var fresh = CommitterStatus()
        var complaint: String?
        do throws(GitError) {
            switch seen.head {
            case .branch(let name, let ref, let commit):
                fresh.state = .ready
                fresh.branch = name
                fresh.notes = disagreements(with: repository, branch: name)
                fresh.remote = try SyncTarget(of: ref, in: repository).map {
                    GitError.withoutPasswords(repository.url(ofRemote: $0.remote) ?? $0.remote)
                }
                if let commit {
                    let info = try repository.commitInfo(commit)
                    fresh.lastCommit = CommitterStatus.Commit(
                        id: commit.hex, subject: String(info.message.prefix { !$0.isNewline }),
                        time: info.committer.time)
                }
                fresh.unpushedCommits = try SyncTarget.unpushedCount(ref, commit, in: repository)
            case .detached(let commit):
                fresh.state = .noCommits
                // A rebase checks out none: that is what the user knows of.
                let reason =
                    seen.operation.map { "\($0) is unfinished in \(store.root.path)" }
                    ?? "no branch is checked out (HEAD is at \(commit.hex.prefix(10)))"
                complaint = "commits are off for this store because \(reason): reading and saving work."
            }
        } catch {
            return cannotRead(error)
        }
        let (before, isFirst, wasHeld, mustGoOn) = withLock {
            let isFirst = $0.status.state == .noRepository && !$0.isFinishing && options.recovers
            if isFirst { $0.status.isLooking = true }
            let before = $0.seen
            let wasHeld = $0.unfinished.contains(FilePath())
            $0.note(FilePath(), isUnfinished: seen.isHeld)
            $0.seen = seen
            $0.status.state = fresh.state
            $0.status.branch = fresh.branch
            $0.status.remote = fresh.remote
            if complaint == nil {
                $0.status.notes = fresh.notes
                $0.status.lastCommit = fresh.lastCommit
                $0.status.unpushedCommits = fresh.unpushedCommits
            }
            $0.headError = complaint
            return (before, isFirst, wasHeld, !$0.isFinishing && seen.isHeld != wasHeld)
        }
        if isFirst { send(.startAnew) }
        // The user has begun something that may take back what is saved, or has finished it.
        if mustGoOn { send(wasHeld ? .commitAndPush : .keepPending) }
        lookForResetCommit(repository, seen.head)
        // A stash that is popped brings files back of which nothing else tells.
        if let stash = before?.stash, seen.stash != stash, !withLock({ $0.isFinishing }) {
            send(.lookAfterStash)
        }
        guard before?.gitDirectory != seen.gitDirectory, let branchFolders = options.branchFolders else {
            return
        }
        // The reference of the stashes lies in the last one; of a linked worktree in the main repository's.
        let common = repository.commonDirectory
        let folders = [seen.gitDirectory] + (common == seen.gitDirectory ? [] : [common])
        branchFolders(folders + ["logs", "refs"].flatMap { name in folders.map { $0.appending(name) } })
        // Nothing tells of what happened between the look above and the beginning of the watch.
        lookAtBranch()
    }

    /// Where the configuration says something else of the store's remote or branch than the repository, whose word holds;
    /// each a sentence.
    func disagreements(with repository: Repository, branch: String) -> [String] {
        var found: [String] = []
        if let wanted = options.configuredBranch, wanted != branch {
            found.append(
                "the configuration names the branch \(wanted), but \(branch) is checked out and committed to: "
                    + "passdir store reclone \(ShellWord.quoted(store.name)) --branch \(wanted) changes that")
        }
        let target = (try? SyncTarget(of: "refs/heads/\(branch)", in: repository)) ?? nil
        let url = target.map { repository.url(ofRemote: $0.remote) ?? $0.remote }
        if let wanted = options.configuredURL, let url, !RemoteURL.areSame(wanted, url) {
            found.append(
                "the configuration names the remote \(GitError.cleanedURL(wanted)), but the repository's, which "
                    + "is used, "
                    + "is \(GitError.cleanedURL(url)): passdir store reclone \(ShellWord.quoted(store.name)) "
                    + "changes that"
            )
        }
        return found
    }

    /// Pushes after a while, with what is saved meanwhile.
    private func pushSoon(afterChange isNew: Bool) {
        let mustSchedule = withLock { values in
            if isNew { values.lastChange = .now }
            return !values.hasLeft && values.mustSchedule()
        }
        if mustSchedule { schedule(after: options.delay) }
    }
}

/// What a mount that ends leaves.
extension StoreState {
    /// What is not committed or not pushed, or lies in a folder that was replaced, as sentences, the last one without a full
    /// stop; nil when all is. Looks at the disk, and waits for no work that goes on.
    var unsharedSentence: String? {
        let (waiting, tops) = withLock { ($0.waiting.count, $0.nestedTops) }
        let commits = ([FilePath()] + tops).reduce(0) { $0 + unpushedCount(at: $1) }
        let (commitError, syncError) = withLock { ($0.commitError ?? $0.headError, $0.syncError) }
        var parts: [String] = []
        if waiting > 0 {
            parts.append("\(Self.count(waiting, "change")) not committed" + Self.reason(commitError))
        }
        if commits > 0 {
            parts.append("\(Self.count(commits, "commit")) not pushed" + Self.reason(syncError))
        }
        let left = leftBehindSentence.map { String($0.dropLast()) }
        guard !parts.isEmpty else { return left }
        return parts.joined(separator: "; ") + "; the next mount retries" + (left.map { ". \($0)" } ?? "")
    }

    func unpushedCount(at place: FilePath) -> Int {
        guard let part = try? repository(at: place),
            case .branch(_, let ref, let tip) = try? part.repository.head()
        else { return 0 }
        return (try? SyncTarget.unpushedCount(ref, tip, in: part.repository)) ?? 0
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        number == 1 ? "1 \(noun) is" : "\(number) \(noun)s are"
    }

    private static func reason(_ error: String?) -> String {
        error.map { " (\($0.last == "." ? String($0.dropLast()) : $0))" } ?? ""
    }
}
