import OpenPGP
import Stores
import Sync
import SystemPackage

/// What saving a `.gpg-id` in the mount does: the same as `passdir recipients set`, within the daemon.
enum RecipientSaving {
    /// The change for a store, made by the daemon's own committer.
    static func changer(_ store: Store, _ committer: Committer) -> RecipientChanger {
        { (folder, bytes) throws(StoreError) in
            guard let file = RecipientFile(parsing: bytes) else {
                throw StoreError(.badRecipientFile, "a .gpg-id is text in UTF-8: write one key a line.")
            }
            let change = try store.change(of: folder, to: file)
            guard !change.isEmpty else { return }
            try check(change, store)
            // What is not foreign, the user has just written.
            let accepting = Set(change.unagreed.map(\.recipient.key.fingerprint))
            let work = try Reencryption.begin(
                change, in: store, accepting: accepting, skipsUnreadable: false)
            do throws(StoreError) {
                try run(work, committer)
            } catch {
                // The program is told that it failed: everything is to be as before.
                _ = try? work.abort { paths throws(StoreError) in
                    try Sharing.wait { () throws(CommitError) in try await committer.isCommitted(paths: paths)
                    }
                }
                throw error
            }
            Task { await committer.pushCommits() }
        }
    }

    /// What a file that is saved cannot ask about.
    private static func check(_ change: RecipientChange, _ store: Store) throws(StoreError) {
        let place = change.folder.isEmpty ? store.name : "\(store.name)/\(change.folder)"
        if let foreign = change.unagreed.first(where: \.isForeign) {
            throw StoreError(
                .unconfirmedRecipients,
                store.lostAgreement
                    ?? "\(foreign.recipient.key.title) is named in the .gpg-id of \(place) by somebody else and you "
                    + "have not agreed to it: take it out, run passdir recipients confirm \(store.name), or name it "
                    + "yourself with passdir recipients add \(place).")
        }
        if change.locksOut {
            throw StoreError(
                .badRecipientFile,
                "none of these keys is yours, so that you could no longer read what is in \(place): to do that all the "
                    + "same, run passdir recipients set \(place) with the keys and --lock-me-out.")
        }
    }

    private static func run(_ work: Reencryption, _ committer: Committer) throws(StoreError) {
        try work.run { paths, message throws(StoreError) in
            try Sharing.wait { () throws(CommitError) in
                try await committer.commit(paths: paths, message: message)
            }
        }
    }
}
