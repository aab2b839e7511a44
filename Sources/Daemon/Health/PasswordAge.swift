import Contents
import OpenPGP
import Stores
import Sync
import System
import SystemPackage

/// When the passwords of a store were changed last: by git, and where that does not have a file, by its time.
struct PasswordAge {
    private let store: Store
    private let times: [FilePath: Int64]

    /// - Parameter history: nil where the store has none.
    init(_ store: Store, _ history: StoreHistory?) throws(StoreHistory.Failure) {
        self.store = store
        let ages = try history?.ages(below: FilePath()) ?? []
        times = Dictionary(ages.map { ($0.path, $0.time) }, uniquingKeysWith: max)
    }

    /// When a secret was saved last for another reason than its recipients; decrypts nothing.
    func saved(_ secret: FilePath) -> Int64? {
        times[secret] ?? (try? store.root.status(of: secret))?.identity.modified.seconds
    }

    /// Since when a secret has had its password, by its earlier versions, as far back as they can be decrypted. What a change
    /// of recipients encrypted again is not decrypted.
    /// - Parameters:
    ///   - versions: newest first.
    ///   - mark: of its password now.
    /// - Returns: nil where git has versions of it, and the newest of them has another password.
    func changed(
        _ secret: FilePath, _ history: StoreHistory, _ versions: [StoreHistory.TextVersion],
        _ mark: PasswordMarks.Mark?, _ marks: PasswordMarks, _ budget: PromptBudget,
        _ cancellation: Cancellation?
    ) -> Int64? {
        func isSame(_ version: StoreHistory.TextVersion) -> Bool {
            guard cancellation?.isCancelled != true else { return false }
            let text = try? budget.read { (mayAsk) throws(StoreError) in
                try history.plaintext(of: version, mayAsk: mayAsk, cancellation: cancellation)
            }
            guard let text, let other = try? HealthLook.mark(of: text, marks) else {
                return text != nil && mark == nil
            }
            return other == mark
        }
        guard let newest = versions.first else { return saved(secret) }
        // Saved, and not committed yet. The file's time is that of whatever put it there, such as a checkout.
        guard history.isOnDisk(newest, of: secret) || isSame(newest) else { return nil }
        var time = newest.time
        for (newer, older) in zip(versions, versions.dropFirst()) {
            guard newer.isReencryption || isSame(older) else { break }
            time = older.time
        }
        return time
    }
}
