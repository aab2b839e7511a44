import ArgumentParser
import Daemon
import Settings
import Stores
import SystemPackage

/// `passdir discard`: what could not be saved is given up.
struct DiscardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discard the text of a secret that could not be saved.",
        discussion: """
            The mount then shows the version on disk; a secret that was never saved disappears. 'passdir status' lists what \
            is unsaved, and why. An edited '.gpg-id' that could not be saved is discarded the same way. The text exists \
            nowhere else, so read it first if you want to keep it. For a secret that was lost when passdir ended, this \
            clears the notice.

            Example: passdir discard work/mail/imap
            """
    )

    @Argument(help: "The secrets: STORE/PATH, or paths in the mount.", completion: PlaceCompletion.places)
    var paths: [String]

    func run() throws {
        let environment = CallerEnvironment.variables()
        let client = ControlClient(socket: Daemon.controlSocket(environment: environment))
        let report = try client.status()
        // All are found before one is given up.
        let secrets = try paths.map { try Self.unsaved($0, report, environment) }
        // What the mount shows then lies there.
        for store in StoreContext.definitions() where secrets.contains(where: { $0.store == store.name }) {
            guard DiskLook.at(store.path).answers else { throw CommandFailure(store.silentDisk) }
        }
        for secret in secrets {
            guard try !client.discardUnsaved(store: secret.store, path: secret.path).isEmpty else {
                throw CommandFailure(
                    "\(secret.store)/\(secret.path) is open in a program that may still save it: close it there first"
                )
            }
            Output.success("discarded the unsaved text of \(secret.store)/\(secret.path)")
        }
    }

    /// What was typed, among what is unsaved: also of a store that is configured no longer.
    private static func unsaved(
        _ typed: String, _ report: StatusReport, _ environment: [String: String]
    ) throws -> (store: String, path: String) {
        for store in report.stores {
            for path in store.unsavedOrLost where "\(store.name)/\(path)" == typed {
                return (store.name, path)
            }
        }
        if report.stores.count == 1, let store = report.stores.first, store.unsavedOrLost.contains(typed) {
            return (store.name, typed)
        }
        let configuration = try Configuration(file: Configuration.defaultPath(environment: environment))
        let place = try TypedPlace(
            typed, in: Registry(configuration, environment: environment), environment: environment)
        let path = place.path.string
        guard !path.isEmpty else { throw CommandFailure("\(typed) is a store; name a secret in it") }
        let store = report.stores.first { $0.name == place.store.name }
        let found = store?.unsavedOrLost.first { $0 == path || $0 == place.path.withoutSuffix.string }
        guard let found else {
            throw CommandFailure(
                "\(place.store.name)/\(path) has no unsaved text; 'passdir status' lists what is unsaved")
        }
        return (place.store.name, found)
    }
}

extension StoreReport {
    /// The paths of what `discard` is for.
    fileprivate var unsavedOrLost: [String] { unsaved.map(\.path) + lost.map(\.path) }
}
