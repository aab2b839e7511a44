import Settings
import Stores
import Sync
import SystemPackage

/// How a store's committer works, from the settings, whichever process it works in.
enum CommitterSettings {
    /// - Parameter credentials: where those of the store's remote are kept; looked into when the remote asks.
    static func options(
        _ configuration: Configuration, of definition: StoreDefinition, credentials: any CredentialStore
    ) throws(SettingsError) -> Committer.Options {
        let store = definition.name
        var options = Committer.Options(
            delay: try configuration.value(Catalogue.commitDelay, store: store),
            pushTimeout: try configuration.value(Catalogue.pushTimeout), program: "/proc/self/exe")
        options.commitsEach = try configuration.value(Catalogue.commitEach, store: store)
        let interval = try configuration.value(Catalogue.syncInterval, store: store)
        options.interval = interval > .zero ? interval : nil
        options.rebases = try configuration.value(Catalogue.syncIntegration, store: store) == .rebase
        options.transport =
            switch try configuration.value(Catalogue.syncTransport, store: store) {
            case .auto: .automatic
            case .libgit2: .libgit2
            case .git: .git
            }
        let login = RemoteLogin(definition, credentials: credentials)
        options.credentials = { login.answer($0) }
        options.transferLimit = try configuration.value(Catalogue.transferLimit)
        options.ownKey = definition.key
        options.configuredURL = definition.url
        options.configuredBranch = definition.branch
        options.offers =
            switch definition.authentication {
            case nil: .all
            case .some(.none): .none
            case .some: .own
            }
        options.notify = { store, sentence in DesktopNotification.show("passdir: \(store)", sentence) }
        return options
    }
}
