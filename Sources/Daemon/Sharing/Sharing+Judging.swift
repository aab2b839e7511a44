import Stores
import System
import SystemPackage

/// Whether whoever has started a command may change recipients.
extension Sharing {
    /// A change of recipients reads all secrets, and whoever is added could read them.
    func checkUnlocked(_ store: Store) throws(DaemonError) {
        guard let objection = CommandRead.lockObjection(ofStore: store.name, environment: environment) else {
            return
        }
        throw DaemonError(message: objection)
    }

    /// A change of a folder's recipients that was judged.
    public struct Judged: Sendable {
        let folder: FilePath
        /// The rules that it was judged by.
        let rules: String?
    }

    /// Whoever decides who reads what lies below a folder must be one who may read it.
    @discardableResult
    func checkMayChange(
        _ folder: FilePath, _ store: Store, judgedBy former: String? = nil
    ) throws(DaemonError) -> Judged {
        Judged(
            folder: folder,
            rules: try CommandRead.checkMayChangeRecipients(
                of: folder, ofStore: store.name, judgedBy: former, environment: environment))
    }

    /// Whether a change can be made, by what is known before it: so that nothing is said of one that is refused.
    /// - Parameters:
    ///   - consent: nil: the user is still to be asked.
    ///   - former: what a check before this one returned; where the same rules are in force, nobody is asked anew.
    /// - Returns: what it was judged by.
    @discardableResult
    public func check(
        _ planned: PlannedChange, consent: ChangeConsent?, skipsUnreadable: Bool, after former: Judged? = nil
    ) throws(DaemonError) -> Judged {
        try checkUnlocked(planned.store)
        let judged = try checkMayChange(planned.change.folder, planned.store, judgedBy: former?.rules)
        try DaemonError.wrapping {
            if let consent, planned.change.locksOut, !consent.isLockedOut {
                throw StoreError(
                    .badRecipientFile,
                    "none of these keys is yours, so you could no longer read what is in \(planned.place): name "
                        + "one of yours, or pass --lock-me-out.")
            }
            try Reencryption.check(
                planned.change, in: planned.store,
                accepting: consent.map { planned.named.union($0.foreign) }, skipsUnreadable: skipsUnreadable)
        }
        return judged
    }
}
