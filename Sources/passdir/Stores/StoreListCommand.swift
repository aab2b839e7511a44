import ArgumentParser
import Daemon
import Settings
import Stores
import SystemPackage

/// `passdir store list`.
struct StoreListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the stores.",
        discussion: """
            Lists the stores in the order of the mount: the state of each ("unapproved" and \
            "no .gpg-id" if saving fails because of the recipients), the host and branch that it is pushed to, its last \
            sync, where it is visible, and its folder. 'passdir status' shows more. If you have added no store, the store of \
            'pass' is listed as 'default'.

            Example: passdir store list --json
            """, aliases: OtherNames.of("list"))

    @Flag(help: "Print a JSON array with an object for each store.")
    var json = false

    func run() throws {
        let context = try StoreContext()
        let stores = try context.registry.definitions()
        let looks = stores.isEmpty ? [:] : Self.looks(context)
        let facts = stores.map { StoreFacts($0, looks[$0.name]) }
        guard !json else { return Output.print(json: facts) }
        guard !stores.isEmpty else { return StandardError.print("passdir: \(FirstStep.sentence)") }
        var table = TextTable(["NAME", "STATE", "HOST", "BRANCH", "LAST SYNC", "MOUNT", "AUTOFILL", "PATH"])
        for (store, facts) in zip(stores, facts) {
            let mount = store.isInMount ? (store.isReadOnly ? "read-only" : "yes") : "no"
            table.add([
                store.name, Self.words(store, looks[store.name]), facts.host ?? "-",
                facts.branch ?? "-",
                facts.lastSync?.local ?? "-", mount, store.isInAutofill ? "yes" : "no", store.path.string,
            ])
        }
        Output.print(table)
    }

    private static func words(_ store: StoreDefinition, _ look: StoreReport?) -> String {
        if look?.locked != nil { return "locked" }
        if let look, look.canSave == false, !look.isReadOnly, look.state != .failed {
            if look.savingObjection != nil { return "cannot save" }
            return look.recipientChanges.isEmpty ? "no .gpg-id" : "unapproved"
        }
        return switch look?.state {
        case .starting: "starting"
        case .ready: "ready"
        case .waiting: "waiting"
        case .failed: "failed"
        case .noCommits: "no commits"
        case nil: store.isInMount ? "-" : "hidden"
        }
    }

    /// How the stores of the mount are doing, by their names: as the daemon says, or as they are found.
    private static func looks(_ context: StoreContext) -> [String: StoreReport] {
        let reports: [StoreReport]
        do throws(ControlError) {
            let socket = Daemon.controlSocket(environment: context.environment)
            reports = try ControlClient(socket: socket).status().stores
        } catch {
            guard error.code == .noDaemon else { return [:] }
            reports = (try? UnmountedStores(environment: context.environment))?.status() ?? []
        }
        return Dictionary(reports.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// `passdir store show`.
struct StoreShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the effective settings of a store.",
        discussion: """
            Each setting that does not come from the store's own section is followed by the general setting it comes from, or \
            by "default".

            Example: passdir store show work
            """)

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let registry = try StoreContext().registry
        let store = try registry.definition(named: store.name)
        let facts = StoreFacts(store, nil, try registry.configuration.inForce(store: store.name))
        if json { Output.print(json: facts) } else { Output.print(lines: facts.lines) }
    }
}
