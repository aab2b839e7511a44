import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// Makes a merge that was computed true: in the working tree, the index and the branch.
extension Integrator {
    /// - Parameter commit: commits what waits.
    /// - Returns: false when somebody was faster, and the merge must be computed anew.
    func takeIn(
        _ merge: Merge, _ session: RemoteSession, _ commit: () -> Void
    ) throws(SyncFailure) -> Bool {
        let (part, repository) = (session.part, session.repository)
        do throws(GitError) {
            let objects = try NewObjects(of: merge.result, since: [merge.ours, merge.theirs], in: repository)
            let changes = try repository.differences(from: merge.ours, to: merge.result)
            guard try leavesStagedAlone(changes, repository) else {
                throw GitError(
                    code: .invalid,
                    message:
                        "a path that the remote changed is also staged here: commit it, or run git restore --staged"
                )
            }
            let update = try WorkingTreeUpdate(
                changes.map { WorkingTreeUpdate.Step(path: $0.path, old: $0.old, new: $0.new) },
                in: repository, check: state.checkTime)
            guard update.edited.isEmpty else {
                try commitFirst(update.edited, ours: merge.ours, part, commit)
                return false
            }
            try checkNothingInTheWay(of: update.additions, ours: merge.ours, part)
            switch try place(merge, update, changes.map(\.path), objects, session) {
            case .done: return true
            case .overtaken: return false
            case .edited(let paths):
                try commitFirst(paths, ours: merge.ours, part, commit)
                return false
            }
        } catch {
            guard error.code != .modified else { return false }
            guard error.code != .locked else {
                lock = CommitWriter.waiting(for: error)
                PosixThread.sleep(for: .milliseconds(20))
                return false
            }
            throw SyncFailure(kind: .passing, message: "the remote's changes are pending: \(error.message).")
        }
    }

    /// What came of the files of a merge.
    private enum Placing {
        /// All are in their places, and the branch leads there.
        case done
        /// Somebody else has moved the branch, or left something half done.
        case overtaken
        /// Nobody has committed what lies in these places.
        case edited([FilePath])
    }

    /// Working tree first, then the index, then the branch: whatever is cut off, what lies in the working tree is
    /// committed at the next start, and meets the same content on the remote.
    private func place(
        _ merge: Merge, _ update: WorkingTreeUpdate, _ paths: [FilePath], _ objects: NewObjects,
        _ session: RemoteSession
    ) throws(GitError) -> Placing {
        let (part, repository) = (session.part, session.repository)
        try repository.checkUnlocked(session.target.localRef)
        guard let journal = try writer.newNote(paths, repository) else {
            // Left by another process since the exchange began. Mending it removes the files that lie beside their places.
            try writer.mend(part)
            return .overtaken
        }
        try objects.keepUnlessHeld()
        Fault.point("merge.noted")
        state.waitForQuiet(in: part.top)
        guard try session.tip() == merge.ours else {
            journal.remove()
            return .overtaken
        }
        Fault.point("merge.quiet")
        let edited = try update.apply()
        guard edited.isEmpty else {
            // All is as it was; the commit has a note of its own.
            journal.remove()
            return .edited(edited)
        }
        Fault.point("merge.before-index")
        let index: PreparedIndex?
        do throws(GitError) {
            index = try moveBranch(merge, paths, objects, session)
        } catch {
            // Else the next commit would take the remote's files for edits of ours.
            try takeBack(update, paths, session)
            journal.remove()
            throw error
        }
        Fault.point("merge.after-ref")
        try objects.ensure(collecting: GitTraffic.isCollecting)
        objects.release()
        try index?.synchronize()
        journal.remove()
        log.info("integrated \(merge.theirs) from the remote as \(merge.result): \(paths.count) files")
        noteConflicts(merge.conflicts)
        // What git has now is not ignored any more.
        let names = paths.map(part.inStore)
        state.withLock { $0.ignored.subtract(names) }
        let conflicts = names.filter { ConflictList.original(of: $0) != nil }
        if !conflicts.isEmpty { ConflictList(store).add(conflicts) }
        newRecipients.formUnion(paths.filter(Store.isRecipientFile).map(part.inStore))
        // A store that had nothing knows of no earlier recipients.
        if merge.ours != nil { self.brought.formUnion(names) }
        state.refreshStatus(part)
        return .done
    }

    /// The files are in place already: better to wait here for a lock than to begin anew.
    /// - Returns: the index, in its place and not on the disk yet.
    private func moveBranch(
        _ merge: Merge, _ paths: [FilePath], _ objects: NewObjects, _ session: RemoteSession
    ) throws(GitError) -> PreparedIndex? {
        let (repository, top) = (session.repository, session.part.top)
        let (_, who) = try repository.signatures()
        let start = ContinuousClock.now
        var published: PreparedIndex?
        try patiently { () throws(GitError) in
            let step = try GitTraffic.quietly(in: top, until: { state.quietEnd(start, top) }) {
                () throws(GitError) in
                try objects.ensure(collecting: GitTraffic.isCollecting)
                return BranchStep(
                    index: try repository.preparedIndex(paths: paths, to: merge.result),
                    move: try repository.preparedMove(
                        session.target.localRef, from: merge.ours, to: merge.result, as: who,
                        "passdir sync: \(merge.subject)"))
            }
            let index = step.index
            try index.publish()
            published = index
            Fault.point("merge.before-ref")
            try step.move.publish { () throws(GitError) in
                // A commit of the user's that found the remote's files in the index would have them without the remote
                // as its parent.
                guard GitTraffic.mayMove(in: top, until: { state.quietEnd(start, top) }) else {
                    throw GitError(code: .modified, message: "a git program has started")
                }
                return true
            }
        }
        return published
    }

    /// Does something again for as long as another program holds a lock of git, which is half a second at most.
    private func patiently(_ body: () throws(GitError) -> Void) throws(GitError) {
        for attempt in 0..<100 {
            do throws(GitError) {
                return try body()
            } catch {
                guard error.code == .locked, attempt < 99 else { throw error }
                PosixThread.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Makes working tree and index again what they were, where the branch does not hold what was to come.
    private func takeBack(
        _ update: WorkingTreeUpdate, _ paths: [FilePath], _ session: RemoteSession
    ) throws(GitError) {
        let (repository, tip) = (session.repository, try session.tip())
        try update.takeBack { (step) throws(GitError) in
            guard let tip else { return false }
            return try repository.item(at: step.path, in: tip) == step.new
        }
        guard let tip else { return }
        try patiently { () throws(GitError) in try repository.updateIndex(paths: paths, to: tip) }
    }

    /// Whether the index holds, at the paths that change, what our branch holds, or already what comes.
    private func leavesStagedAlone(
        _ changes: [TreeDifference], _ repository: Repository
    ) throws(GitError) -> Bool {
        let staged = try repository.indexItems(at: changes.map(\.path))
        return changes.allSatisfy { change in
            let item = staged[change.path]
            return item?.id == change.old?.id || item?.id == change.new?.id
        }
    }

    /// An edit in the working tree that nobody has committed: it becomes part of our history before the merge.
    private func commitFirst(
        _ paths: [FilePath], ours: ObjectID?, _ part: RepositoryPart, _ commit: () -> Void
    ) throws(GitError) {
        let hidden = try hiddenSecrets(at: paths, ours: ours, part)
        let paths = paths.filter { hidden[$0] == nil }
        try checkNothingInTheWay(of: paths, ours: ours, part)
        try setAside(hidden, part)
        for path in paths { state.note(.saved(part.inStore(path))) }
        commit()
        if let change = UnfinishedChange(of: store),
            paths.contains(where: { change.holds(part.inStore($0), isEnding: false) })
        {
            throw GitError(
                code: .other, message: "an interrupted change of recipients must be resumed or undone first")
        }
        if let complaint = state.withLock({ $0.commitError }) {
            // A sentence by itself, part of one here.
            throw GitError(
                code: .other, message: complaint.hasSuffix(".") ? String(complaint.dropLast()) : complaint)
        }
    }

    func noteConflicts(_ conflicts: [FilePath]) {
        guard !conflicts.isEmpty else { return }
        ConflictList(store).add(conflicts)
        state.withLock { $0.keptTwice += conflicts }
        let names = conflicts.map(\.string).joined(separator: ", ")
        options.notify(
            store.name,
            "Changed here and on the remote of \"\(store.name)\"; your versions are kept as \(names).")
    }
}
