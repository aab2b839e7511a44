import Git
import Stores
import SystemPackage

/// What a remote sent is looked at before anything is made of it: its size, its names, its history.
extension Committer {
    /// More commits than a store ever has; fewer than what would fill the memory of whoever compares two histories.
    private static let longestHistory = 500_000

    /// Counts the history of a remote commit, before anything compares it with ours.
    func checkHistory(_ theirs: ObjectID, _ target: SyncTarget, _ repository: Repository) throws(SyncFailure)
    {
        guard sync.countedTips[target.nested] != theirs else { return }
        let isShort: Bool
        do throws(GitError) {
            isShort = try repository.hasHistory(of: theirs, atMost: Self.longestHistory)
        } catch {
            throw SyncFailure(kind: .passing, message: "what was fetched cannot be read: \(error.message).")
        }
        guard isShort else {
            throw refusal("its history has more than \(Self.longestHistory) commits", target)
        }
        sync.countedTips[target.nested] = theirs
    }

    /// Refuses what the remote's branch holds and must not get, or does not fit, into a working tree.
    func checkIncoming(
        _ theirs: ObjectID, known: [ObjectID], _ target: SyncTarget, _ repository: Repository
    ) throws(SyncFailure) {
        let bounds = TreeBounds(file: store.options.ciphertextLimit, total: options.transferLimit)
        do throws(GitError) {
            try repository.checkIncoming(theirs, known: known, bounds: bounds)
            let list = FilePath(root: nil, [Store.recipientFileName])
            if target.nested.isEmpty, let ours = known.first, try repository.item(at: list, in: ours) != nil,
                try repository.item(at: list, in: theirs) == nil
            {
                throw GitError(
                    code: .invalid,
                    message:
                        "it has no .gpg-id at its top any more, without which the folder is no password store"
                )
            }
        } catch {
            guard error.code == .invalid else {
                throw SyncFailure(
                    kind: .passing, message: "what was fetched cannot be read: \(error.message).")
            }
            throw refusal(error.message, target)
        }
    }

    private func refusal(_ reason: String, _ target: SyncTarget) -> SyncFailure {
        SyncFailure(
            kind: .lasting,
            message:
                "the branch \"\(target.branch)\" of \"\(GitError.withoutPasswords(target.remote))\" is not "
                + "taken in: \(reason). Nothing of it was placed here, and nothing is pushed until it is put right "
                + "there.")
    }
}
