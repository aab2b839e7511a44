import Git
import Logging
import Stores
import SystemPackage

extension CommitWriter {
    /// Secrets in the working tree that are not as in the newest commit. What the user has staged is the user's.
    /// - Returns: how many there are that were not waiting already; nil when the look tells nothing, because others were at
    ///   work.
    func take(_ result: UncommittedLook.Result, _ part: RepositoryPart) -> Int? {
        switch result {
        case .disturbed: return nil
        case .failed(let error):
            log.warning("\(error.message)")
            state.withLock {
                $0.lookError =
                    "cannot look for uncommitted changes in the store because \(error.message)."
            }
            return 0
        case .found(let changes, let refused, let before, let after):
            guard moved(from: before, to: after) else { return nil }
            state.withLock { $0.lookError = nil }
            note(ignored: changes, part)
            note(refused: refused, part, after)
            note(staged: changes, part)
            // What a change of recipients that was killed has put in place is that change's to commit or to take back.
            let inChange = Reencryption.paths(underWayIn: store)
            var count = 0
            for change in changes where change.unstaged && !change.alsoStaged && change.kind != .conflicted {
                let path = part.inStore(change.path)
                guard let name = path.lastComponent, path.isCommitted || change.isLink,
                    !VisibleName.isHidden(name), !inChange.contains(path)
                else { continue }
                // git may have taken a file away for a moment: what is missing is decided when it is committed.
                if state.noteFound(.saved(path)) { count += 1 }
            }
            return count
        }
    }

    private func note(staged changes: [WorkingTreeChange], _ part: RepositoryPart) {
        let found = changes.filter { change in
            (change.alsoStaged || change.kind == .conflicted) && change.path.isCommitted
        }
        state.withLock { $0.staged.formUnion(found.map { part.inStore($0.path) }) }
    }

    /// Whether only commits of ours lie between two states of HEAD.
    private func moved(from before: Head, to after: Head) -> Bool {
        if before == after { return true }
        guard case .branch(_, let ref, let start) = before, case .branch(_, ref, let end?) = after else {
            return false
        }
        var tip = start
        while let commit = tip, commit != end { tip = ownMoves?[commit] }
        return tip == end
    }
}
