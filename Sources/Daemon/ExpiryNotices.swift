import Settings
import Stores
import Sync
import Synchronization

/// Tells on the desktop, once for each, of credentials that will not be taken much longer.
final class ExpiryNotices: Sendable {
    private let registry: Registry
    private let credentials: any CredentialStore
    private let learned: LearnedState?
    /// What was told in this process, which may have nowhere to keep it.
    private let told = Mutex<Set<String>>([])

    init(registry: Registry, credentials: any CredentialStore, learned: LearnedState?) {
        self.registry = registry
        self.credentials = credentials
        self.learned = learned
    }

    /// Looks at all credentials, and tells of those that were not told of. Asks for no passphrase; may wait for the
    /// Secret Service.
    func tell() {
        guard let stores = try? registry.definitions(),
            let reports = try? CredentialReport.all(of: stores, in: credentials)
        else { return }
        for report in reports {
            guard let warning = report.warning, let expires = report.expires,
                let id = stores.first(where: { $0.name == report.store })?.identifier
            else { continue }
            let fact = "expiryTold-\(report.kind)"
            let isNew = told.withLock { $0.insert("\(id) \(fact) \(expires)").inserted }
            guard isNew, learned?.fact(fact, of: id) != expires else { continue }
            learned?.remember(expires, as: fact, of: id)
            DesktopNotification.show("passdir: \(report.store)", warning)
        }
    }
}
