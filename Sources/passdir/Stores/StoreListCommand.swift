import ArgumentParser
import Stores
import SystemPackage

/// `passdir store list`.
struct StoreListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the stores.",
        discussion: """
            In the order in which the mount lists them, with their folders and where they are visible. Where no \
            store was added, the one of 'pass' is listed as 'default'.

            Example: passdir store list --json
            """
    )

    @Flag(help: "Print a JSON array with an object for each store.")
    var json = false

    func run() throws {
        let stores = try StoreContext().registry.definitions()
        guard !json else {
            Output.print(json: stores.map(StoreFacts.init))
            return
        }
        guard !stores.isEmpty else { return }
        var table = TextTable(["NAME", "MOUNT", "AUTOFILL", "PATH"])
        for store in stores {
            let mount = store.isInMount ? (store.isReadOnly ? "read-only" : "yes") : "no"
            table.add([store.name, mount, store.isInAutofill ? "yes" : "no", store.path.string])
        }
        Output.print(table)
    }
}

/// `passdir store show`.
struct StoreShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the configuration of a store.",
        discussion: "Example: passdir store show work")

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let facts = StoreFacts(try StoreContext().registry.definition(named: store.name))
        if json { Output.print(json: facts) } else { Output.print(lines: facts.lines) }
    }
}
