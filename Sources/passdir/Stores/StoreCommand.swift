import ArgumentParser

/// `passdir store`: the commands about the list of stores.
struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Add, list, change and remove stores.",
        discussion: "Example: passdir store add work --path ~/work-passwords",
        subcommands: [
            StoreAddCommand.self, StoreListCommand.self, StoreShowCommand.self, StoreSetCommand.self,
            StoreRenameCommand.self, StoreMoveCommand.self, StoreHideCommand.self, StoreUnhideCommand.self,
            StoreRecloneCommand.self, StoreRemoveCommand.self, StoreImportCommand.self,
            TrustHostCommand.self,
        ]
    )
}

/// The name of a store as an argument.
struct StoreArgument: ParsableArguments {
    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var name: String
}
