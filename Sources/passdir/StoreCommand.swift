import ArgumentParser

/// `passdir store`: the commands about the list of stores.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Add and list the stores that a mount shows.",
        subcommands: [StoreAddCommand.self, StoreListCommand.self, TrustHostCommand.self]
    )
}
