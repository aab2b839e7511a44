import Git
import Glibc
import Stores
import SystemPackage

extension RemoteSession {
    /// Puts our branch in the place of what was last seen there, and of nothing else: who took a branch or commits away, or
    /// moved the branch, may have done so on purpose.
    /// - Parameters:
    ///   - lease: what is there and gives way although ours does not follow it; nil: nothing does.
    ///   - isThere: false where the branch is gone and the user wants it back.
    nonisolated(nonsending) func push(replacing lease: ObjectID? = nil, isThere: Bool = true)
        async throws(SyncFailure)
    {
        try reopen()
        try checkDestination()
        state.setActivity("pushing")
        let tip = (try? tip()) ?? nil
        Fault.point("sync.before-push")
        try await transfer(.push, replacing: isThere ? lease ?? followed(by: tip) : nil)
        Fault.point("sync.after-push")
        // What went there is what the branch led to then, which the user may have moved meanwhile: the next fetch tells.
        if let tip, (try? self.tip()) == tip {
            try? repository.set(target.knownRef, to: tip)
            followInGit(tip, isForced: lease != nil)
        }
        guard target.nested.isEmpty else { return }
        let now = Int64(time(nil))
        state.keep(now, as: "lastPush")
        state.withLock { $0.status.lastPush = now }
        state.refreshStatus(part)
    }

    /// What the branch on the remote leads to at this moment; nil when there is no such branch.
    nonisolated(nonsending) func ask() async throws(SyncFailure) -> ObjectID? { try await transfer(.ask).tip }

    /// Nothing is pushed where the user's `git push` would not go: who set it up so may not want it there.
    private func checkDestination() throws(SyncFailure) {
        let objection = try telling("cannot push") { () throws(GitError) in
            try repository.objectionToPush(target.localRef, to: target.remote, as: target.remoteRef)
        }
        guard let objection else { return }
        throw SyncFailure(
            kind: .lasting,
            message:
                "nothing is pushed, because git push would behave differently here: \(objection). Push with git, or "
                + "change that in \(place).")
    }

    /// What was last seen there, where our tip follows it: a push then replaces it without a loss.
    private func followed(by tip: ObjectID?) -> ObjectID? {
        // A remote that is pushed to elsewhere than it is fetched from may be anywhere.
        guard repository.pushURL(ofRemote: target.remote) == repository.url(ofRemote: target.remote),
            let tip, let known = (try? known()) ?? nil, (try? repository.isAncestor(known, of: tip)) == true
        else { return nil }
        return known
    }
}
