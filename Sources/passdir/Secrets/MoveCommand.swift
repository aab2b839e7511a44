import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// The two places of `mv` and `cp`.
struct MovedPlaces: ParsableArguments {
    @Argument(help: "The secret or folder: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var source: String

    @Argument(
        help: "Its new place; a folder that is there, or ends with a slash, takes it in.",
        completion: PlaceCompletion.anyPlaces)
    var target: String

    @Flag(name: [.short, .long], help: "Replace secrets that are there without asking.")
    var force = false

    func move(isCopy: Bool) throws {
        let environment = CallerEnvironment.variables()
        let search = try SecretSearch(environment: environment)
        let from = try search.existing(source, for: isCopy ? .reading : .writing)
        let to = try search.place(target, beside: from)
        let move = try SecretMove(from, to: to, isCopy: isCopy, environment: environment)
        let loss = try Overwriting.require(move.replaced, unkept: move.unkept(), force: force)
        let note = move.target.noteOfNewFolder
        let notes = try LockedStore.during(
            reading: move.readsSecrets() ? [from.store.name] : [], environment: environment
        ) { try move.perform(losing: loss, cancellation: $0) }
        for note in notes { StandardError.print("passdir: \(note)") }
        Output.success("\(isCopy ? "copied" : "renamed") \(from.name) to \(move.target.name)")
        Output.tell(note)
    }
}

/// `passdir mv`.
struct MoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv",
        abstract: "Rename or move a secret or a folder.",
        discussion: """
            It is encrypted to the recipients of its new place, also in another store. A new name without a store stays in \
            the same store.

            Example: passdir mv work/mail/imap work/old/
            """, aliases: OtherNames.of("mv")
    )

    @OptionGroup var places: MovedPlaces

    func run() throws { try places.move(isCopy: false) }
}

/// `passdir cp`.
struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cp",
        abstract: "Copy a secret or a folder.",
        discussion: """
            The copy is encrypted to the recipients of its place, also in another store. The access rules apply to the \
            program that runs this command.

            Example: passdir cp work/mail/imap private/mail/imap
            """, aliases: OtherNames.of("cp")
    )

    @OptionGroup var places: MovedPlaces

    func run() throws { try places.move(isCopy: true) }
}
