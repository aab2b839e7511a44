import Access
public import OpenPGP
import Stores
public import Sync
import SystemPackage

extension CommandRead {
    /// As `objection(toShowing:ofStore:environment:)`, of a version of a secret: by its name, and by those that it was renamed to
    /// since, for a renamed secret is what it was.
    ///
    /// - Parameter onlyRenamed: for what is put back and not shown: its own name has the rules that it had.
    /// - Throws: why nothing can be said.
    public static func objection(
        toShowing version: StoreHistory.Version, _ history: StoreHistory, of access: StoreAccess,
        onlyRenamed: Bool = false, cancellation: Cancellation, environment: [String: String]
    ) throws -> String? {
        let store = access.store
        let hasRules = try !AccessOptions(Daemon.configuration(environment)).rules.isEmpty
        let later =
            hasRules
            ? try history.laterNames(since: version, cancellation: cancellation) : [:]
        for file in version.files {
            for name in (onlyRenamed ? [] : [file.path])
                + (later[file.path] ?? []).sorted(by: { $0.string < $1.string })
            {
                let objection = try objection(
                    toShowing: store.visiblePath(of: name), ofStore: store.name, environment: environment)
                if let objection { return objection }
            }
        }
        return nil
    }
}
