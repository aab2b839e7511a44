import ArgumentParser
import Stores

/// `passdir audit`.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "List everything that passdir keeps, where, and how it is protected.",
        discussion: """
            Every setting, every credential and every file, with what is stored of it now. No value is ever \
            printed. What lies in passdir's folders without being declared comes last.
            """
    )

    @Flag(help: "Print one JSON object: {\"entries\": [...], \"undeclared\": [...]}.")
    var json = false

    func run() throws {
        let context = try StoreContext()
        let audit = try Audit(
            registry: context.registry, environment: context.environment, credentials: context.credentials)
        guard !json else { return Output.print(json: audit) }
        var place = ""
        for entry in audit.entries {
            if entry.place != place {
                if !place.isEmpty { Output.print("") }
                place = entry.place
                Output.print("[\(place)]")
            }
            Output.print("\(entry.name)  (\(entry.type), \(entry.protection), \(entry.owner))")
            Output.print("    \(entry.description)")
            if entry.stored.isEmpty { Output.print("    not stored") }
            for line in entry.stored { Output.print("    stored: \(line)") }
        }
        guard !audit.undeclared.isEmpty else { return }
        Output.print("")
        Output.print("[not declared]")
        for line in audit.undeclared { Output.print(line) }
    }
}
