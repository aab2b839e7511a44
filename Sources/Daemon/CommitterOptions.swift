import Settings
import Stores
import Sync
import SystemPackage

extension Committer.Options {
    /// How a store's committer works by its settings, whichever process it works in.
    /// - Parameter credentials: where those of the store's remote are kept; looked into when the remote asks.
    init(_ settings: StoreSettings, credentials: any CredentialStore) {
        self.init(
            delay: settings.commitDelay, pushTimeout: settings.pushTimeout, program: "/proc/self/exe")
        commitsEach = settings.commitsEach
        interval = settings.syncInterval
        rebases = settings.integration == .rebase
        transport =
            switch settings.transport {
            case .auto: .automatic
            case .libgit2: .libgit2
            case .git: .git
            }
        let definition = settings.definition
        let login = RemoteLogin(definition, credentials: credentials)
        self.credentials = { login.answer($0) }
        transferLimit = settings.transferLimit
        ownKey = definition.key
        configuredURL = definition.url
        configuredBranch = definition.branch
        offers =
            switch definition.authentication {
            case nil: .all
            case .some(.none): .none
            case .some: .own
            }
        notify = { store, sentence in DesktopNotification.show("passdir: \(store)", sentence) }
    }
}
