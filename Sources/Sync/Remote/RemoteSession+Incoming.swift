import Git
import Stores
import SystemPackage

/// What a remote sent is looked at before anything is made of it: its size, its names, its history.
extension RemoteSession {
    /// More commits than a store ever has; fewer than what would fill the memory of whoever compares two histories.
    private static let longestHistory = 500_000

    /// Refuses a history that is damaged, not whole or too long, before anything compares it with ours, which is not looked
    /// at.
    func checkHistory(_ theirs: ObjectID, ours: ObjectID?) throws(SyncFailure) {
        guard theirs != ours, memory.soundTips[target.nested] != theirs else { return }
        try refusing(as: .unsound) { () throws(GitError) in
            try repository.checkIncomingHistory(
                of: theirs, known: [ours].compactMap(\.self), atMost: Self.longestHistory)
        }
        memory.soundTips[target.nested] = theirs
    }

    /// Refuses what the remote's branch holds and must not get, or does not fit, into a working tree.
    func checkIncoming(_ theirs: ObjectID, known: [ObjectID]) throws(SyncFailure) {
        let bounds = TreeBounds(file: store.options.ciphertextLimit, total: options.transferLimit)
        try refusing(as: .lasting) { () throws(GitError) in
            try repository.checkIncoming(theirs, known: known, bounds: bounds)
            let list = FilePath(root: nil, [Store.recipientFileName])
            guard target.nested.isEmpty, let ours = known.first,
                try repository.item(at: list, in: ours) != nil,
                try repository.item(at: list, in: theirs)?.isFile != true
            else { return }
            throw GitError(
                code: .invalid,
                message:
                    "it no longer has a .gpg-id at its top level, without which the folder is not a password store"
            )
        }
    }

    /// Refuses the branch for what is invalid in it.
    private func refusing(
        as kind: SyncFailure.Kind, _ check: () throws(GitError) -> Void
    ) throws(SyncFailure) {
        do throws(GitError) {
            try check()
        } catch {
            guard error.code == .invalid else {
                throw SyncFailure(
                    kind: .passing, message: "cannot read what was fetched: \(error.message).")
            }
            throw refusal(error.message, kind: kind)
        }
    }

    func refusal(_ reason: String, kind: SyncFailure.Kind) -> SyncFailure {
        SyncFailure(
            kind: kind,
            message:
                "the branch \"\(target.branch)\" of \"\(GitError.withoutPasswords(target.remote))\" was "
                + "refused: \(reason). Nothing of it was merged here, and nothing is pushed until it is "
                + "fixed there. To replace it with this store's history, run passdir sync --ours "
                + "\(ShellWord.quoted(store.name))."
        )
    }
}
