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
                throw StoreError(.badRecipientFile, "a .gpg-id is UTF-8 text: write one key a line.")
            }
            let change = try store.change(of: folder, to: file)
            guard !change.isEmpty else { return }
            let work = try Reencryption.begin(change, in: store, skipsUnreadable: false)
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

    private static func run(_ work: Reencryption, _ committer: Committer) throws(StoreError) {
        try work.run { paths, message throws(StoreError) in
            try Sharing.wait { () throws(CommitError) in
                try await committer.commit(paths: paths, message: message)
            }
        }
    }
}
