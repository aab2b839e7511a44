import Settings
import Sync
import SystemPackage

/// How a store's committer works, from the settings.
enum CommitterSettings {
    static func options(
        _ configuration: Configuration, store: String
    ) throws(SettingsError) -> Committer.Options {
        var options = Committer.Options(
            delay: try configuration.value(Catalogue.commitDelay, store: store),
            pushTimeout: try configuration.value(Catalogue.pushTimeout), program: "/proc/self/exe")
        options.commitsEach = try configuration.value(Catalogue.commitEach, store: store)
        let interval = try configuration.value(Catalogue.syncInterval, store: store)
        options.interval = interval > .zero ? interval : nil
        options.transport =
            switch try configuration.value(Catalogue.syncTransport, store: store) {
            case .auto: .automatic
            case .libgit2: .libgit2
            case .git: .git
            }
        options.notify = { store, sentence in DesktopNotification.show("passdir: \(store)", sentence) }
        return options
    }
}
