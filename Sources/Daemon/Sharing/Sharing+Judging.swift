import Stores
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
}
