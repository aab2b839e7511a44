import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// What saving a `.gpg-id` in the mount does: the same as `passdir recipients set`, within the daemon.
enum RecipientSaving {
    /// The change for a store, made by the daemon's own committer; told to `running` while it is made.
    static func changer(
        _ store: Store, _ committer: Committer, _ running: RunningChanges, _ environment: [String: String]
    ) -> RecipientChanger {
        { (folder, bytes, tried, mayChange) throws(StoreError) in
            if isGone(folder, store) { throw kept(bytes, of: folder, store, environment, .gone) }
            let applied = try store.appliedList(of: folder)
            if applied.hasOvertaken(bytes, madeFrom: tried) {
                throw kept(bytes, of: folder, store, environment, .overtaken)
            }
            guard let file = RecipientFile(parsing: bytes) else {
                throw StoreError(.badRecipientFile, "a .gpg-id must be UTF-8 text: write one key per line.")
            }
            let change = try store.change(of: folder, to: file, from: applied)
            guard !change.isEmpty else { return }
            try check(change, store)
            try mayChange()
            let making = running.begin(change.secrets.count)
            var end = RunningChange.End.interrupted
            defer { running.end(making, end) }
            do throws(StoreError) {
                try make(change, making, store, committer, mayChange, &end)
            } catch {
                guard case .undone = end, making.cancellation.isCancelled else { throw error }
                let aborted = Self.aborted(bytes, of: folder, store, environment)
                end = .undone(keptAt: aborted.place)
                throw aborted
            }
            ActorCall { await committer.pushCommits() }
        }
    }

    /// - Parameter end: what became of it, also when this throws.
    private static func make(
        _ change: RecipientChange, _ making: RunningChange, _ store: Store, _ committer: Committer,
        _ mayChange: () throws(StoreError) -> Void, _ end: inout RunningChange.End
    ) throws(StoreError) {
        end = .undone(keptAt: nil)
        // What is not foreign, the user has just written.
        let accepting = Set(change.unagreed.map(\.recipient.key.fingerprint))
        let work = try Reencryption.begin(
            change, in: store, accepting: accepting, skipsUnreadable: false,
            cancellation: making.cancellation)
        do throws(StoreError) {
            try run(work, making, store, committer, mayChange)
            end = .finished
        } catch {
            // The program is told that it failed: everything is to be as before.
            end = .interrupted
            let aborted = try? work.abort { paths throws(StoreError) in
                try Sharing.wait { () throws(CommitError) in try await committer.isCommitted(paths: paths) }
            }
            if let aborted { end = aborted == .wasFinished ? .finished : .undone(keptAt: nil) }
            throw error
        }
        tell(work.leftAlone, of: change.folder, store)
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

    /// Why a list is not to be tried again.
    private enum KeptReason {
        case gone, overtaken, aborted

        var code: StoreError.Code {
            switch self {
            case .gone: .keptElsewhere
            case .overtaken: .overtaken
            case .aborted: .aborted
            }
        }

        /// What the program is told where the list cannot be kept.
        var errno: Errno {
            switch self {
            case .gone: .noSuchFileOrDirectory
            case .overtaken: .staleNFSFileHandle
            case .aborted: .canceled
            }
        }

        func sentence(_ folder: FilePath, _ store: String) -> String {
            let place = folder.isEmpty ? store : "\(store)/\(folder)"
            return switch self {
            case .gone:
                "the folder \(folder) of the store \"\(store)\" is gone, so its .gpg-id has no effect"
            case .overtaken:
                "the recipients of \(place) changed after their .gpg-id could not be saved, so it is not saved now"
            case .aborted:
                "passdir recipients abort undid the change of the recipients of \(place), so they are as before"
            }
        }
    }

    /// Nobody could save it any more, and who unmounts should not have to give up other saves with it.
    private static func kept(
        _ bytes: [UInt8], of folder: FilePath, _ store: Store, _ environment: [String: String],
        _ reason: KeptReason
    ) -> StoreError {
        do throws(LifecycleError) {
            let place = try RemovedFolder(environment: environment).keep(
                list: bytes, of: folder, in: store.name)
            let sentence =
                "\(reason.sentence(folder, store.name)): the list that was being saved is kept in \(place)."
            // Who stops a change is told by the command.
            if reason != .aborted { DesktopNotification.show(store.name, sentence) }
            return StoreError(reason.code, sentence, keptAt: place)
        } catch {
            return StoreError(.system(reason.errno), error.message)
        }
    }

    /// Tried again, it would begin the change anew that the user has stopped.
    private static func aborted(
        _ bytes: [UInt8], of folder: FilePath, _ store: Store, _ environment: [String: String]
    ) -> StoreError {
        // To give a folder's list up is a change to the list above it, which is not lost.
        if let above = try? store.inheritedFile(of: folder), above.bytes == bytes {
            return StoreError(.aborted, "\(KeptReason.aborted.sentence(folder, store.name)).")
        }
        return kept(bytes, of: folder, store, environment, .aborted)
    }

    /// What a file that is saved cannot ask about.
    private static func check(_ change: RecipientChange, _ store: Store) throws(StoreError) {
        let place = change.folder.isEmpty ? store.name : "\(store.name)/\(change.folder)"
        if let foreign = change.unagreed.first(where: \.isForeign) {
            throw StoreError(
                .unconfirmedRecipients,
                store.lostAgreement
                    ?? "\(foreign.recipient.key.title) was added to the .gpg-id of \(place) by someone else and "
                    + "you have not approved it: remove it, run passdir recipients confirm "
                    + "\(ShellWord.quoted(store.name)), or add it yourself with passdir recipients add "
                    + "\(ShellWord.quoted(place)).")
        }
        if change.locksOut {
            throw StoreError(
                .badRecipientFile,
                "none of these keys is yours, so you could no longer read what is in \(place): to do it anyway, "
                    + "run passdir recipients set \(ShellWord.quoted(place)) with the keys and --lock-me-out."
            )
        }
    }

    /// A file that is saved can say nothing when it is saved.
    private static func tell(_ left: [FilePath], of folder: FilePath, _ store: Store) {
        guard let first = left.first else { return }
        let place = folder.isEmpty ? store.name : "\(store.name)/\(folder)"
        DesktopNotification.show(
            store.name,
            "\(first)\(left.count > 1 ? " and \(left.count - 1) more" : "") was added by others while the "
                + "recipients of \(place) changed, and was left unchanged: look at it, then run passdir "
                + "recipients check --fix "
                + ShellWord.quoted(place))
    }

    private static func run(
        _ work: Reencryption, _ making: RunningChange, _ store: Store, _ committer: Committer,
        _ mayChange: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try work.run(cancellation: making.cancellation, progress: making.note, mayPlace: mayChange) {
            paths, message throws(StoreError) in
            try Sharing.wait { () throws(CommitError) in
                try await committer.commit(paths: paths, message: message)
            }
            FormerReaderList.keep(work.formerReaders(), of: store)
        }
    }
}
