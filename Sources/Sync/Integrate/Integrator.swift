import Git
import Glibc
import Logging
import Stores
import System
import SystemPackage

/// Takes in what a remote has: by moving the branch forward, a merge, a rebase, or in the place of what the store has.
///
/// What others do meanwhile makes it begin anew; `commit` is called then, to commit what waits.
final class Integrator {
    let state: StoreState
    let writer: CommitWriter
    var store: Store { state.store }
    var options: Committer.Options { state.options }
    var log: Logger { state.log }
    /// The git lock that kept the last merge from its end.
    var lock: String?
    /// The `.gpg-id` files, relative to the store, that a merge has changed and the user was not told of yet.
    var newRecipients: Set<FilePath> = []
    /// All that others brought and nobody has compared with its recipients yet, relative to the store.
    var brought: Set<FilePath> = []
    /// The remote's versions of lists and signatures that the user has looked at, and in whose place ours stay; relative to
    /// the store.
    var settledLists: [FilePath: ObjectID] = [:]

    init(_ state: StoreState, writer: CommitWriter) {
        self.state = state
        self.writer = writer
    }

    /// What was computed of a merge and is not yet true.
    struct Merge {
        var ours: ObjectID?
        var theirs: ObjectID
        /// The commit that the branch goes to.
        var result: ObjectID
        /// Files that hold our versions beside the remote's, relative to the store.
        var conflicts: [FilePath] = []
        var subject: String
    }

    /// Takes in what is known of the remote: moves the branch forward, or merges. Afterwards our branch holds all of
    /// the remote's.
    nonisolated(nonsending) func integrate(
        _ session: RemoteSession, commit: () -> Void
    ) async throws(SyncFailure) {
        try await noteFirstRecipients()
        lock = nil
        // A lock that is held for long is no reason to hold up whoever waits for this exchange.
        let end = ContinuousClock.now + .seconds(3)
        for _ in 0..<50 where lock == nil || .now < end {
            let (known, ours) = try telling("cannot merge") { () throws(GitError) in
                (try session.known(), try session.tip())
            }
            guard let theirs = known else { return }
            try session.checkHistory(theirs, ours: ours)
            let hasAll = try telling("cannot merge") { () throws(GitError) in
                try session.checkRewriting(ours, theirs)
                guard let ours else { return false }
                return try session.repository.isAncestor(theirs, of: ours)
            }
            if hasAll { return }
            // Index, rules and settings as they are now.
            try session.reopen()
            if try await integrateOnce(session, ours, theirs, commit) { return await tellOfRecipients() }
            commit()
        }
        throw SyncFailure(
            kind: .passing,
            message: "the remote's changes are pending because \(lock ?? "the store keeps changing").")
    }

    /// False: something changed under it, all again.
    private nonisolated(nonsending) func integrateOnce(
        _ session: RemoteSession, _ ours: ObjectID?, _ theirs: ObjectID, _ commit: () -> Void
    ) async throws(SyncFailure) -> Bool {
        state.setActivity("merging")
        try session.refuseUnfinished()
        var merge = Merge(ours: ours, theirs: theirs, result: theirs, subject: "Fast-forward")
        if let ours {
            let (base, line) = try telling("cannot merge") { () throws(GitError) in
                let base = try session.repository.mergeBase(ours, theirs)
                return (
                    base, options.rebases ? try ownLine(from: base, to: ours, session.repository) : nil
                )
            }
            // Without a common ancestor nothing is merged at all.
            if let base { try session.checkIncoming(theirs, known: [ours, base]) }
            if let line, base != ours {
                merge = try await rebase(line, ours, theirs, session)
            } else if base != ours {
                merge = try await self.merge(ours, theirs, base: base, session)
            }
        } else {
            try session.checkIncoming(theirs, known: [])
        }
        Fault.point("merge.written")
        return try takeIn(merge, session, commit)
    }
}
