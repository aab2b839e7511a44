import ArgumentParser
import Daemon
import Stores
import SystemPackage

/// `passdir store import`.
struct StoreImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the existing stores of pass, gopass and QtPass.",
        discussion: """
            Their settings do not change, and you can keep using these programs. Running it again adds nothing. The first \
            'passdir mount' does this automatically.

            Example: passdir store import
            """
    )

    @Flag(help: "Print a JSON array of {program, path, name, reason}.")
    var json = false

    private struct Facts: Encodable {
        let program: String
        let path: String
        let name: String?
        let reason: String?
    }

    func run() throws {
        let context = try StoreContext()
        let outcomes = try context.registry.importForeign()
        if outcomes.contains(where: { $0.reason == nil }) { context.daemon.reload() }
        guard !json else {
            Output.print(
                json: outcomes.map {
                    Facts(
                        program: $0.store.program, path: $0.store.path.string, name: $0.name,
                        reason: $0.reason)
                })
            return
        }
        if outcomes.isEmpty { Output.notice("nothing to import") }
        for outcome in outcomes {
            let place = "\(outcome.store.program)'s \(outcome.store.path)"
            switch (outcome.name, outcome.reason) {
            case (let name?, nil): Output.notice("added \(name): \(place)")
            case (let name?, _): Output.notice("\(name) already exists: \(place)")
            case (nil, let reason): Output.notice("skipped \(place): \(reason ?? "")")
            }
        }
    }
}
