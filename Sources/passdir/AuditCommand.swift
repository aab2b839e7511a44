import ArgumentParser
import Stores

/// `passdir audit`.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "List everything that passdir keeps, where, and how it is protected.",
        discussion: """
            Lists every setting with its default, every credential and every file, grouped by place and by the part of passdir \
            that owns it, and what is stored now. It never prints a value. Undeclared files in passdir's folders come last.

            Example: passdir audit | grep -A 4 sync.interval
            """
    )

    @Flag(help: "Print one JSON object: {\"entries\": [...], \"undeclared\": [...]}.")
    var json = false

    func run() throws {
        let context = try StoreContext()
        let audit = try Audit(
            registry: context.registry, environment: context.environment, credentials: context.credentials)
        for complaint in audit.complaints { StandardError.print("passdir: \(complaint)") }
        if json { Output.print(json: audit) } else { Self.print(audit) }
        guard audit.complaints.isEmpty else { throw ExitCode.failure }
    }

    private static func print(_ audit: Audit) {
        var heading = ""
        for entry in audit.entries {
            if heading != "[\(entry.place), \(entry.owner)]" {
                if !heading.isEmpty { Output.print("") }
                heading = "[\(entry.place), \(entry.owner)]"
                Output.print(heading)
            }
            Output.print("\(entry.name)  (\(entry.type), \(entry.protection))")
            Output.print("    \(entry.description)")
            if let text = entry.default { Output.print("    default: \(text)") }
            if let key = entry.storeKey { Output.print("    a store may set: \(key)") }
            if entry.stored.isEmpty { Output.print("    not stored") }
            for line in entry.stored { Output.print("    stored: \(line)") }
        }
        guard !audit.undeclared.isEmpty else { return }
        Output.print("")
        Output.print("[not declared]")
        for line in audit.undeclared { Output.print(line) }
    }
}
