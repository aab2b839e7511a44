import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// `passdir rm`.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Remove a secret or a folder.",
        discussion: """
            Asks first on a terminal. 'passdir restore' brings back what was removed, as long as the store is a git repository.

            Example: passdir rm work/mail/old
            """, aliases: OtherNames.of("rm")
    )

    @Argument(help: "The secret or folder: STORE/PATH, or PATH.", completion: PlaceCompletion.anyPlaces)
    var path: String

    @Flag(name: [.short, .long], help: "Remove a folder with all that is in it.")
    var recursive = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var force = false

    func run() throws {
        let environment = CallerEnvironment.variables()
        let place = try SecretSearch(environment: environment).existing(path, for: .writing)
        guard place.kind != .folder || !place.file.isEmpty else {
            throw CommandFailure("\(place.name) is a store: passdir store remove removes it")
        }
        guard place.kind != .folder || recursive else {
            throw CommandFailure(
                "\(place.name) is a folder: passdir rm --recursive removes it with all that is in it")
        }
        let unkept = try place.unkeptBelow()
        let loss = try Losing.require(unkept, "Remove it")
        if !force, unkept.isEmpty {
            let count = try place.kind == .folder ? place.secrets().count : 1
            let secrets = count == 1 ? "1 secret" : "\(count) secrets"
            let what = place.kind == .folder ? "\(place.name) with its \(secrets)" : place.name
            guard Confirmation.isPossible else {
                throw CommandFailure("nothing was changed: --force removes \(what) without asking")
            }
            try Confirmation.require("Remove \(what)?")
        }
        try place.remove(losing: loss, environment: environment)
        Output.success("removed \(place.name)")
    }
}
