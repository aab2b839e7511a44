import Git
import Glibc
import Logging
import Stores
import Synchronization
import SystemPackage

extension Committer {
    /// Paths of one repository.
    private struct Share {
        var repository: Repository
        var top: FilePath
        /// The store's folder below the repository's top; empty where they are the same.
        var prefix: FilePath
        /// Relative to the top.
        var paths: [FilePath] = []
    }

    /// Commits a batch, in each repository its part. A store that is no repository has nothing to do.
    func commit(_ batch: PendingChanges) throws(CommitFailure) {
        for var share in try shares(of: batch) {
            share.paths = expanded(share)
            try commit(&share, batch)
        }
    }

    /// As pass does: the nearest repository around a path commits it.
    private func shares(of batch: PendingChanges) throws(CommitFailure) -> [Share] {
        var shares: [FilePath: Share] = [:]
        var order: [FilePath] = []
        var places: [FilePath: FilePath?] = [:]
        for path in batch.paths {
            let folder = path.removingLastComponent()
            if places[folder] == nil {
                let share = try openRepository(around: folder)
                places[folder] = .some(share?.top)
                if let share, shares[share.top] == nil {
                    shares[share.top] = share
                    order.append(share.top)
                }
            }
            guard let top = places[folder] ?? nil else { continue }
            var relative = store.root.path.pushing(path)
            guard relative.removePrefix(top) else { continue }
            shares[top]?.paths.append(relative)
        }
        return order.compactMap { shares[$0] }
    }

    private func openRepository(around folder: FilePath) throws(CommitFailure) -> Share? {
        // A folder that is gone lay in the repository of the nearest one that is still there.
        var start = store.root.path.pushing(folder)
        while !isDirectory(start), start.components.count > store.root.path.components.count {
            start.removeLastComponent()
        }
        do {
            guard let repository = try Repository.discover(from: start),
                let top = repository.workingDirectory?.lexicallyNormalized()
            else { return nil }
            var prefix = store.root.path
            if !prefix.removePrefix(top) { prefix = FilePath() }
            return Share(repository: repository, top: top, prefix: prefix)
        } catch {
            throw CommitFailure(message: "commits are off for this store because \(error.message).")
        }
    }

    private func isDirectory(_ path: FilePath) -> Bool {
        var facts = stat()
        return path.withPlatformString { lstat($0, &facts) } == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    /// A folder that was renamed stands for the files that are in it now; the ones at its old place are known to
    /// git.
    private func expanded(_ share: Share) -> [FilePath] {
        share.paths.flatMap { path -> [FilePath] in
            guard isDirectory(share.top.pushing(path)) else { return [path] }
            return [path] + files(below: path, top: share.top)
        }
    }

    private func files(below folder: FilePath, top: FilePath) -> [FilePath] {
        guard let root = try? Root(path: top), let entries = try? root.entries(of: folder) else { return [] }
        // A repository inside the folder commits its own.
        if entries.contains(where: { $0.name == ".git" }) { return [] }
        return entries.flatMap { entry -> [FilePath] in
            let path = folder.appending(entry.name)
            switch entry.kind {
            case .directory: return files(below: path, top: top)
            case .regular, .symbolicLink:
                return entry.name.string.hasPrefix(Store.temporaryPrefix) ? [] : [path]
            case .other: return []
            }
        }
    }

    private func commit(_ share: inout Share, _ batch: PendingChanges) throws(CommitFailure) {
        let repository = share.repository
        guard !repository.operationInProgress else {
            throw CommitFailure(
                message:
                    "changes wait because a merge or rebase is unfinished in \(share.top.string): finish it "
                    + "with git.")
        }
        // Others may move the branch meanwhile: build again on the new tip.
        for _ in 0..<16 {
            do {
                guard case .branch(let name, let ref, let parent) = try repository.head() else {
                    throw CommitFailure(
                        message:
                            "commits are off for this store because \(share.top.string) has no branch checked "
                            + "out: git switch to one.")
                }
                let (tree, changes) = try repository.preparedTree(parent: parent, paths: share.paths)
                let journal = CommitJournal(gitDirectory: repository.gitDirectory)
                if !changes.isEmpty {
                    let message = CommitMessage(
                        changes.map { (Self.inStore($0.path, share.prefix), $0.kind) }, renames: batch.renames
                    )
                    do {
                        try journal.write(changes.map(\.path))
                    } catch {
                        throw CommitFailure(
                            message:
                                "cannot write the commit's note in \(repository.gitDirectory.string): \(error)."
                        )
                    }
                    let now = Int64(time(nil))
                    let author = repository.defaultSignature(now: now) ?? FallbackIdentity.signature(now: now)
                    let id: ObjectID
                    do {
                        id = try repository.commit(
                            tree: tree, parent: parent, message: batch.message ?? message.text, author: author,
                            committer: author,
                            onto: ref)
                    } catch {
                        // The branch has not moved: the index is as it was, and nothing of it is ours to mend.
                        journal.remove()
                        throw error
                    }
                    try updateIndex(repository, paths: changes.map(\.path), to: id)
                    journal.remove()
                    log.info("committed \(changes.count) changes as \(id) on \(name)")
                }
                refreshStatus(repository)
                return
            } catch let error as GitError {
                switch error.code {
                case .modified: continue
                case .locked:
                    throw CommitFailure(
                        message: "changes wait because another program holds a git lock: \(error.message).")
                default:
                    throw CommitFailure(message: "cannot commit in \(share.top.string): \(error.message).")
                }
            } catch let failure as CommitFailure {
                throw failure
            } catch {
                throw CommitFailure(message: "cannot commit in \(share.top.string): \(error).")
            }
        }
        throw CommitFailure(message: "changes wait because another program keeps moving the branch.")
    }

    private static func inStore(_ path: FilePath, _ prefix: FilePath) -> FilePath {
        var path = path
        _ = prefix.isEmpty ? true : path.removePrefix(prefix)
        return path
    }

    /// The branch has moved: whatever holds the index's lock, the entries of our paths must follow. What a crash
    /// leaves undone here, the journal tells the next start.
    private func updateIndex(
        _ repository: Repository, paths: [FilePath], to commit: ObjectID
    ) throws(CommitFailure) {
        for attempt in 0..<100 {
            do {
                try repository.updateIndex(paths: paths, to: commit)
                return
            } catch  where error.code == .locked {
                // Another program's lock is held for milliseconds, and nothing tells of its end.
                usleep(useconds_t(min(1 + attempt, 50)) * 1000)
            } catch {
                log.warning(
                    "the index of \(repository.gitDirectory) could not follow a commit: \(error.message)")
                return
            }
        }
        throw CommitFailure(
            message:
                "the index of git could not follow the last commit because another program holds its lock: "
                + "remove \(repository.gitDirectory.appending("index.lock").string) if no git program runs.")
    }

    /// Reads branch, newest commit and what is not pushed yet.
    func refreshStatus(_ repository: Repository) {
        var status = shared.withLock { $0.status }
        do {
            switch try repository.head() {
            case .branch(let name, let ref, let commit):
                status.state = .ready
                status.branch = name
                if let commit {
                    let info = try repository.commitInfo(commit)
                    status.lastCommit = CommitterStatus.Commit(
                        id: commit.hex, subject: String(info.message.prefix { !$0.isNewline }),
                        time: info.committer.time)
                }
                status.unpushedCommits =
                    try pushTarget(of: ref, in: repository) == nil
                    ? 0 : repository.unpushedCount(of: ref) ?? 0
            case .detached(let commit):
                status.state = .noCommits
                status.branch = nil
                shared.withLock {
                    $0.commitError =
                        "commits are off for this store because no branch is checked out (HEAD is at \(commit.hex.prefix(10))): "
                        + "reading and saving work."
                }
            }
        } catch {
            log.warning("the state of the repository cannot be read: \(error.message)")
        }
        shared.withLock { $0.status = status }
    }
}
