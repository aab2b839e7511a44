import Access
public import OpenPGP
import Stores
public import Sync
import SystemPackage

extension CommandRead {
    /// As above, of a version of a secret: by its name, and by those that it was renamed to since, for a renamed secret is what it
    /// was.
    ///
    /// - Parameter onlyRenamed: for what is put back and not shown: its own name has the rules that it had.
    public static func judged<Value>(
        _ version: StoreHistory.Version, _ history: StoreHistory, of access: StoreAccess,
        onlyRenamed: Bool = false, cancellation: Cancellation, environment: [String: String],
        _ decrypt: () throws -> Value
    ) throws -> Value {
        let store = access.store
        func names() throws -> [FilePath] {
            let hasRules = try !AccessOptions(Daemon.configuration(environment)).rules.isEmpty
            let later =
                hasRules
                ? try history.laterNames(since: version, cancellation: cancellation) : [:]
            return version.files.flatMap { file in
                (onlyRenamed ? [] : [file.path])
                    + (later[file.path] ?? []).sorted(by: { $0.string < $1.string })
            }.map { store.visiblePath(of: $0) }
        }
        return try judged(names, ofStore: store.name, environment: environment, decrypt)
    }
}
