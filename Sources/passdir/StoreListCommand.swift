import ArgumentParser
import Daemon

/// `passdir store list`.
struct StoreListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the stores that a mount shows.",
        discussion: """
            One line a store: its name, a tab, its folder. Where no store was added, the one of 'pass' is \
            listed as 'default'.
            """
    )

    @Flag(help: "Print a JSON array of {name, path, isImplicit}.")
    var json = false

    func run() throws {
        do {
            let stores = try Daemon.stores(environment: CallerEnvironment.variables())
            if json {
                print(try JSONLine.encode(stores))
            } else {
                for store in stores { print("\(store.name)\t\(store.path)") }
            }
        } catch let error as DaemonError {
            throw CommandFailure(error)
        }
    }
}
