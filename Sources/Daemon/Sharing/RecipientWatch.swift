import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// Looks for `.gpg-id` files of a store that somebody else has changed, and for a change of recipients that was
/// interrupted, for `status`.
///
/// `status` must not wait for gpg or git: the look is taken on a thread of its own, and what it finds in a moment
/// is told now, what takes longer next time.
final class RecipientWatch: Sendable {
    private let store: Store
    /// For how many seconds a look is waited for.
    private let patience: Double
    private let look = RepeatedLook<Finding>(named: "recipients")

    /// What is found in the lists.
    struct Finding: Sendable {
        /// The lists that somebody else has changed.
        var changes: [RecipientChangeReport] = []
        /// Why nothing can be encrypted by one of them, as a sentence; nil where it can by all.
        var objection: String?
        /// Whether the look goes on, so that this is what an earlier one found, or nothing.
        var isOld = false
    }

    /// - Parameter patience: for how many seconds a look is waited for; long where there is no next time.
    init(_ store: Store, patience: Double) {
        self.store = store
        self.patience = patience
    }

    /// Notes who the recipients are at the first mount ever. Returns at once.
    func start() {
        begin()
    }

    /// What is known, after at most as long as the patience lasts.
    var finding: Finding { finding(of: begin(), until: MonotonicTime(secondsFromNow: patience)) }

    /// What a look that was begun has found, or what is known where it has not ended by then.
    func finding(of number: UInt64, until deadline: MonotonicTime) -> Finding {
        if let new = look.finding(of: number, until: deadline) { return new }
        var finding = look.last ?? Finding()
        // A look that takes a moment is nothing to be told of.
        finding.isOld = (look.runningTime ?? .zero) > .seconds(2)
        return finding
    }

    /// Begins a look; returns its number at once.
    @discardableResult
    func begin() -> UInt64 {
        look.begin { [store, look] in Self.look(at: store) ?? look.last ?? Finding() }
    }

    /// A sentence about what looks like an interrupted change and is not this machine's, or about agreements that are
    /// lost; nil when there is none of it. Looks into the store.
    var trouble: String? { Reencryption.foreignFolder(in: store) ?? store.lostAgreement }

    /// A sentence about a change that waits to be resumed or aborted; nil when there is none. Looks at this machine's own
    /// state only.
    var interruptedChange: String? {
        guard Reencryption.isUnderWay(in: store) else { return nil }
        if let sentence = Reencryption.unfinishedAbort(in: store) { return sentence }
        return
            "a change of recipients is in progress or was interrupted: passdir recipients resume "
            + "\(ShellWord.quoted(store.name)) "
            + "finishes it, passdir recipients abort \(ShellWord.quoted(store.name)) undoes it."
    }

    /// nil when it cannot be told.
    private static func look(at store: Store) -> Finding? {
        try? store.recordRecipientsAtFirstSight()
        guard let snapshot = try? store.snapshot() else { return nil }
        store.note(snapshot)
        return Finding(
            changes: snapshot.changes.map { RecipientChangeReport($0, store) },
            objection: store.objectionToLists(unapproved: Set(snapshot.changes.map(\.file))))
    }
}
