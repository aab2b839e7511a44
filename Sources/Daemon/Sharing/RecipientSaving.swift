import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// What saving a `.gpg-id` in the mount does: the same as `passdir recipients set`, within the daemon.
enum RecipientSaving {
    /// The change for a store, made by the daemon's own committer.
    static func changer(
        _ store: Store, _ committer: Committer, _ environment: [String: String]
    ) -> RecipientChanger {
        { (folder, bytes, tried) throws(StoreError) in
            if isGone(folder, store) { throw kept(bytes, of: folder, store, environment, isGone: true) }
            let applied = try store.appliedList(of: folder)
            if applied.hasOvertaken(bytes, madeFrom: tried) {
                throw kept(bytes, of: folder, store, environment, isGone: false)
            }
            guard let file = RecipientFile(parsing: bytes) else {
                throw StoreError(.badRecipientFile, "a .gpg-id is text in UTF-8: write one key a line.")
            }
            let change = try store.change(of: folder, to: file, from: applied)
            guard !change.isEmpty else { return }
            try check(change, store)
            // What is not foreign, the user has just written.
            let accepting = Set(change.unagreed.map(\.recipient.key.fingerprint))
            let work = try Reencryption.begin(
                change, in: store, accepting: accepting, skipsUnreadable: false)
            do throws(StoreError) {
                try run(work, committer)
                tell(work.leftAlone, of: change.folder, store)
            } catch {
                // The program is told that it failed: everything is to be as before.
                _ = try? work.abort { paths throws(StoreError) in
                    try Sharing.wait { () throws(CommitError) in try await committer.isCommitted(paths: paths)
                    }
                }
                throw error
            }
            ActorCall { await committer.pushCommits() }
        }
    }

    /// Whether a folder of a store that is there has been removed: then its list is for nothing.
    private static func isGone(_ folder: FilePath, _ store: Store) -> Bool {
        guard !folder.isEmpty, (try? store.root.statusIfPresent(of: FilePath())) != nil else { return false }
        do throws(Errno) {
            return try store.root.statusIfPresent(of: folder)?.kind != .directory
        } catch {
            return error == .notDirectory || error == .noSuchFileOrDirectory
        }
    }

    /// Nobody could save it any more, and who unmounts should not have to give up other saves with it.
    private static func kept(
        _ bytes: [UInt8], of folder: FilePath, _ store: Store, _ environment: [String: String],
        isGone: Bool
    ) -> StoreError {
        do throws(LifecycleError) {
            let place = try RemovedFolder(environment: environment).keep(
                list: bytes, of: folder, in: store.name)
            let reason =
                isGone
                ? "the folder \(folder) of the store \"\(store.name)\" is gone, so its .gpg-id is for nothing"
                : "the recipients of \(folder.isEmpty ? store.name : "\(store.name)/\(folder)") changed after their "
                    + ".gpg-id could not be saved, so it is not saved now"
            let sentence = "\(reason): what was to be saved is kept in \(place)."
            DesktopNotification.show(store.name, sentence)
            return StoreError(isGone ? .keptElsewhere : .overtaken, sentence, keptAt: place)
        } catch {
            return StoreError(.system(isGone ? .noSuchFileOrDirectory : .staleNFSFileHandle), error.message)
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
                    + "have not agreed to it: take it out, run passdir recipients confirm \(ShellWord.quoted(store.name)), or name it "
                    + "yourself with passdir recipients add \(ShellWord.quoted(place)).")
        }
        if change.locksOut {
            throw StoreError(
                .badRecipientFile,
                "none of these keys is yours, so that you could no longer read what is in \(place): to do that all the "
                    + "same, run passdir recipients set \(ShellWord.quoted(place)) with the keys and --lock-me-out."
            )
        }
    }

    /// A file that is saved can say nothing when it is saved.
    private static func tell(_ left: [FilePath], of folder: FilePath, _ store: Store) {
        guard let first = left.first else { return }
        let place = folder.isEmpty ? store.name : "\(store.name)/\(folder)"
        DesktopNotification.show(
            store.name,
            "\(first)\(left.count > 1 ? " and \(left.count - 1) more" : "") came from others while the recipients of "
                + "\(place) changed, and stays as it is: look at it, then run passdir recipients check --fix "
                + ShellWord.quoted(place))
    }

    private static func run(_ work: Reencryption, _ committer: Committer) throws(StoreError) {
        try work.run { paths, message throws(StoreError) in
            try Sharing.wait { () throws(CommitError) in
                try await committer.commit(paths: paths, message: message)
            }
        }
    }
}
