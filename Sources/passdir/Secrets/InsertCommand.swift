import ArgumentParser
import Daemon
import Stores
import System
import SystemPackage

/// `passdir insert`: a text that is typed or piped in, as a secret.
struct InsertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "insert",
        abstract: "Save a password or a text that you type or pipe in.",
        discussion: """
            On a terminal, it asks twice and shows nothing. Otherwise it reads one line from standard input, or with \
            --multiline all of it, byte for byte. A path without a store is looked for in all of them; for a new one it asks \
            which store you mean.

            Examples:
              passdir insert work/mail/imap
              passdir insert work/keys/deploy --multiline <deploy.key
            """, aliases: OtherNames.of("insert")
    )

    @Argument(help: "The secret: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    @Flag(name: [.short, .long], help: "Show the password while you type it, and ask once.")
    var echo = false

    @Flag(name: [.short, .long], help: "Take all lines, until the end of the input.")
    var multiline = false

    @Flag(name: [.short, .long], help: "Replace a secret that is there without asking.")
    var force = false

    func validate() throws {
        if echo, multiline { throw ValidationError("choose one of '--echo' and '--multiline'") }
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let place = try NewPlace.find(path, environment: environment)
        let known = try place.lookToSave(environment: environment)
        let note = place.noteOfNewFolder
        let loss =
            try known == nil
            ? .refused : Overwriting.require([place.name], unkept: place.unkept(), force: force)
        let text =
            try multiline
            ? TypedSecret.all(for: place.name, atMost: place.store.options.secretLimit)
            : TypedSecret.password(for: place.name, isShown: echo)
        let kept = try place.save(
            text, replacing: known, losing: loss,
            message: "Add given password for \(place.passName) to store.")
        Output.tell(kept: kept)
        Output.success("saved \(place.name)")
        Output.tell(note)
    }
}

extension Output {
    /// What is worth a line to who sits there, where there is something.
    static func tell(_ note: String?) {
        if let note { success(note) }
    }

    /// Another version of what was saved, which is to be known to programs, too.
    static func tell(kept: String?) {
        if let kept { StandardError.print("passdir: the version saved in the meantime is kept as \(kept)") }
    }
}
