import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// Makes commits of batches of changes, in each repository of the store. Blocks; one thread at a time.
final class CommitWriter {
    let state: StoreState
    var store: Store { state.store }
    var options: Committer.Options { state.options }
    var log: Logger { state.log }
    /// The commits of ours since a look for uncommitted secrets began, by their parents; nil while nobody looks.
    var ownMoves: [ObjectID: ObjectID]?
    /// When a lock of another program was last found held for long.
    private var lockHeld: ContinuousClock.Instant?

    init(_ state: StoreState) {
        self.state = state
    }

    /// Commits a batch, in each repository its part. A store that is no repository has nothing to do.
    /// - Parameter moment: when the batch had all that was renamed; nil where that does not count.
    /// - Throws: also where something was renamed since: one name may have been read before that, and the other behind it.
    func commit(_ batch: PendingChanges, since moment: RenamesUnderWay.Moment? = nil) throws(CommitError) {
        var first: CommitError?
        try state.checkFolder()
        for part in try state.parts(of: batch) {
            do throws(CommitError) {
                try commit(part, batch, moment)
            } catch {
                // What was committed is no change any more when the batch comes again.
                first = first ?? error
            }
        }
        if let first { throw first }
    }

    private func commit(
        _ part: RepositoryPart, _ batch: PendingChanges, _ moment: RenamesUnderWay.Moment?
    ) throws(CommitError) {
        if let reason = unfinished(part) {
            keepWaiting(part, batch)
            throw CommitError(message: reason)
        }
        do throws(GitError) {
            try mend(part)
            try takeUpWaiting(part)
        } catch {
            throw failure(error, part)
        }
        // Who holds a lock for seconds holds it on: an exchange that commits before each of its steps must not wait for it
        // each time.
        let isHeldOn = lockHeld.map { $0.duration(to: .now) < .seconds(10) } ?? false
        let start = ContinuousClock.now
        var locked: ContinuousClock.Instant?
        var told: String?
        var wasDisturbed = false
        defer {
            if let told { state.withLock { if $0.commitError == told { $0.commitError = nil } } }
        }
        // Others may move the branch or work on the index meanwhile: build again on the new tip.
        for attempt in 0..<256 {
            do throws(GitError) {
                if try commitOnce(part, batch, moment, since: start) {
                    // Now, as git may have been at it while the commit was made.
                    try keepWhatWasTakenBack(part, batch, wasDisturbed: wasDisturbed)
                    lockHeld = nil
                    return state.refreshStatus(part)
                }
            } catch {
                guard error.code != .modified else {
                    wasDisturbed = true
                    continue
                }
                let failure = failure(error, part)
                guard error.code == .locked else { throw failure }
                // Another program's lock is held for milliseconds, and nothing tells of its end.
                let since = locked ?? .now
                locked = since
                guard .now < since + (isHeldOn ? .milliseconds(300) : .seconds(5)) else {
                    lockHeld = .now
                    throw failure
                }
                // One that is held for longer than git does is told before that.
                if told == nil, since + .milliseconds(500) < .now {
                    told = state.withLock { values in
                        if values.commitError == nil { values.commitError = failure.message }
                        return failure.message
                    }
                }
                PosixThread.sleep(for: .milliseconds(min(1 + attempt * 2, 50)))
                continue
            }
            throw CommitError(message: "secrets were renamed meanwhile.", isOvertaken: true)
        }
        throw CommitError(message: "changes wait because another program keeps moving the branch.")
    }

    private func failure(_ error: GitError, _ part: RepositoryPart) -> CommitError {
        let reason =
            error.code == .locked
            ? "changes wait because \(Self.waiting(for: error))"
            : "cannot commit in \(part.top.string): \(error.message)"
        return CommitError(message: reason + ".")
    }

    /// A commit that is written but that no branch points to yet.
    private struct Prepared {
        var id: ObjectID
        var changes: [TreeChange]
        var who: Signature
        var subject: String
        /// What the log of HEAD says before that.
        var reason: String
    }

    /// One try, which waits for a quiet moment: all together as long as one may.
    /// - Returns: false where something was renamed since `moment`; nothing was done then.
    private func commitOnce(
        _ part: RepositoryPart, _ batch: PendingChanges, _ moment: RenamesUnderWay.Moment?,
        since start: ContinuousClock.Instant
    ) throws(GitError) -> Bool {
        let repository = part.repository
        let head = try repository.head()
        guard case .branch(let name, let ref, let parent) = head else {
            throw GitError(code: .invalid, message: Self.noBranch)
        }
        // After this commit nobody asks any more for the one before.
        if part.nested.isEmpty { state.lookForResetCommit(repository, head) }
        try repository.checkUnlocked(ref)
        let part = try committable(part, onto: parent, exactly: batch.message != nil)
        Fault.point("commit.objects")
        let last: Prepared
        let paths: [FilePath]
        let journal: CommitJournal
        var draft: Attempt<IndexDraft?>?
        if options.commitsEach, batch.message == nil {
            let prepared = try prepareEach(part, batch, onto: parent)
            if isOvertaken(since: moment) { return false }
            guard let newest = prepared.last else { return true }
            last = newest
            paths = prepared.flatMap { $0.changes.map(\.path) }
            journal = try note(paths, part)
        } else {
            let plan = try repository.plannedTree(parent: parent, paths: part.paths)
            if isOvertaken(since: moment) { return false }
            guard !plan.changes.isEmpty else { return true }
            paths = plan.changes.map(\.path)
            journal = try note(paths, part)
            // For a large store the index takes as long as all the rest: it is put together meanwhile. What fails here is
            // tried again, and told, below.
            draft = Attempt(named: "index") { (try? plan.indexChange.draft()) ?? nil }
            do throws(GitError) {
                last = try write(part, batch, try repository.write(plan), plan.changes, onto: parent)
            } catch {
                // Not signed, say: nothing was touched that a note would have to tell of.
                journal.remove()
                throw error
            }
        }
        let objects = try NewObjects(of: last.id, since: [parent], in: repository)
        try objects.keepUnlessHeld()
        Fault.point("commit.noted")
        let (earliest, top) = (ContinuousClock.now + .milliseconds(200), part.top)
        let end = { [state] in max(earliest, state.quietEnd(start, top)) }
        let step = try GitTraffic.quietly(in: top, until: end) { () throws(GitError) in
            try objects.ensure(collecting: GitTraffic.isCollecting)
            let move = try repository.preparedMove(
                ref, from: parent, to: last.id, as: last.who,
                (parent == nil ? "commit (initial): " : last.reason) + last.subject)
            // Written only now: while a file of 10 MB is, each fsync of a small one takes several times as long.
            if let draft = draft?.value(until: MonotonicTime(secondsFromNow: 60)) ?? nil, draft.isCurrent {
                return BranchStep(index: try draft.written(), move: move)
            }
            return BranchStep(index: try repository.preparedIndex(paths: paths, to: last.id), move: move)
        }
        Fault.point("commit.quiet")
        do throws(CommitError) {
            try state.checkFolder()
        } catch {
            journal.remove()
            throw GitError(code: .other, message: error.message)
        }
        // The index goes first: a `git commit` of the user between the two would else take the old content from it.
        let index = step.index
        try index.publish()
        Fault.point("commit.before-ref")
        try step.move.publish { GitTraffic.mayMove(in: top, until: end) }
        if parent != nil, part.nested.isEmpty { state.withLock { $0.lastOwn = (last.id, last.id) } }
        if let parent { ownMoves?[parent] = last.id }
        Fault.point("commit.after-ref")
        do throws(GitError) {
            try objects.ensure(collecting: GitTraffic.isCollecting)
            objects.release()
            // Only now: of a large store it takes longer than all the rest, and git does not wait for the disk here either.
            try index.synchronize()
            Fault.point("commit.synchronized")
            journal.remove()
        } catch {
            // The note stays, by which the next commit or start looks again.
            log.error("\(error.message)")
        }
        log.info("committed \(paths.count.counted("change")) as \(last.id) on \(name)")
        return true
    }

    private func isOvertaken(since moment: RenamesUnderWay.Moment?) -> Bool {
        moment.map { !state.renames.isNone(since: $0) } ?? false
    }

    /// The note that a commit of these paths is on its way. What another process has left there meanwhile is mended first,
    /// and so is a try of ours that failed after its index was in place.
    private func note(_ paths: [FilePath], _ part: RepositoryPart) throws(GitError) -> CommitJournal {
        for _ in 0..<10 {
            if let journal = try newNote(paths, part.repository) { return journal }
            try mend(part, noted: paths)
        }
        throw GitError(code: .locked, message: Self.otherPassdir)
    }

    /// - Returns: nil where one is there that was left behind.
    func newNote(_ paths: [FilePath], _ repository: Repository) throws(GitError) -> CommitJournal? {
        do throws(CommitJournal.Refusal) {
            let journal = try CommitJournal(paths, gitDirectory: repository.gitDirectory)
            // What an earlier crash left belongs to no note any more; what lies there after the next one is this one's.
            repository.removeIndexCopies()
            return journal
        } catch {
            switch error {
            case .left: return nil
            case .busy: throw GitError(code: .locked, message: Self.otherPassdir)
            case .failed(let error):
                throw GitError(code: .other, message: "cannot write the commit's note: \(error)")
            }
        }
    }

    /// A second process of ours holds no lock that anybody should take away: it ends with its work.
    private static let otherPassdir = "another passdir is working in the same repository"

    /// What a lock has to do with it that is held for long, as a part of a sentence.
    static func waiting(for lock: GitError) -> String {
        if lock.message == otherPassdir { return otherPassdir }
        let said = lock.message
        let holds = "another program holds "
        let name = said.hasPrefix(holds) ? String(said.dropFirst(holds.count)) : said
        return "another program holds a git lock: \(name); remove it if no git program is running"
    }

    /// Writes the commits of a batch, one for each secret.
    private func prepareEach(
        _ part: RepositoryPart, _ batch: PendingChanges, onto parent: ObjectID?
    ) throws(GitError) -> [Prepared] {
        var prepared: [Prepared] = []
        for paths in separated(part, batch.renames) {
            let tip = prepared.last?.id ?? parent
            let (tree, changes) = try part.repository.preparedTree(parent: tip, paths: paths)
            guard !changes.isEmpty else { continue }
            prepared.append(try write(part, batch, tree, changes, onto: tip))
        }
        return prepared
    }

    private func write(
        _ part: RepositoryPart, _ batch: PendingChanges, _ tree: ObjectID, _ changes: [TreeChange],
        onto parent: ObjectID?
    ) throws(GitError) -> Prepared {
        let repository = part.repository
        let told = CommitMessage(changes.map { (part.inStore($0.path), $0.kind) }, renames: batch.renames)
        let message = batch.message ?? told.text
        let (author, committer) = try repository.signatures(
            changed: batch.time, given: options.identity)
        let id = try repository.makeCommit(
            tree: tree, parents: parent.map { [$0] } ?? [], message: message, author: author,
            committer: committer, sign: try state.signer(of: repository, as: committer))
        let subject = String(message.prefix { !$0.isNewline })
        let reason =
            told.tellsAll && !batch.hasFound ? CommitMessage.toldReason : CommitMessage.foundReason
        return Prepared(id: id, changes: changes, who: committer, subject: subject, reason: reason)
    }

    /// One group of paths for each change: a rename is one, with all that lies in a renamed folder.
    private func separated(_ part: RepositoryPart, _ renames: [PendingChanges.Rename]) -> [[FilePath]] {
        var groups: [[FilePath]] = []
        var places: [Int: Int] = [:]
        for path in part.paths {
            let name = part.inStore(path)
            let rename = renames.firstIndex { name.starts(with: $0.from) || name.starts(with: $0.to) }
            if let rename, let place = places[rename] {
                groups[place].append(path)
                continue
            }
            if let rename { places[rename] = groups.count }
            groups.append([path])
        }
        return groups
    }
}
