import ArgumentParser
import Daemon
import Glibc
import OpenPGP
import Settings
import Stores
import System
import SystemPackage

/// `passdir credential`: what stores' remotes ask for.
struct CredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential",
        abstract: "Store, list and forget passwords and tokens for stores' remotes.",
        discussion: """
            Credentials are kept in the session's Secret Service or, if there is none, in files encrypted to your own key; never \
            in a store, the configuration or a log. No command prints one.

            Example: passdir credential list
            """,
        subcommands: [CredentialSetCommand.self, CredentialForgetCommand.self, CredentialListCommand.self]
    )
}

extension CredentialKind: ExpressibleByArgument {}

/// `passdir credential set`.
struct CredentialSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a credential for a store's remote.",
        discussion: """
            Asks for it on the terminal without showing it, or reads it from standard input, byte for byte except for one \
            newline at the end.

            Example: passdir credential set work --expires 2027-01-31
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: "password (also a token) or ssh-passphrase.")
    var kind = CredentialKind.password

    @Option(help: ArgumentHelp("The last day on which the server accepts it.", valueName: "yyyy-mm-dd"))
    var expires: String?

    func run() throws {
        let context = try StoreContext()
        let key = try context.key(store.name, kind)
        var end: Int64?
        if let expires {
            guard let day = CalendarDay(expires) else {
                throw WrongUsage(
                    message: "--expires cannot be '\(expires)': it must be a day, such as 2027-01-31")
            }
            end = day.end
            if day.end < Timestamp.now().seconds { StandardError.warn("\(expires) has already passed") }
        }
        let secret =
            Terminal.isThere
            ? try Terminal.secret("The \(kind.rawValue) of \(store.name): ")
            : try Terminal.standardInput()
        guard let secret else { throw CommandFailure("nothing was entered; nothing was changed") }
        try context.credentials.save(secret, as: key, expires: end)
        // Not where it was to be kept: a place that turned out to take nothing was passed over.
        let place = try context.credentials.entries()[key]?.place
        Output.notice("stored in: \(place ?? context.credentials.place)")
    }
}

/// `passdir credential forget`.
struct CredentialForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Delete the credentials of a store, or one of them.",
        discussion: "Example: passdir credential forget work",
        aliases: OtherNames.of("forget", like: "remove"))

    @OptionGroup var store: StoreArgument

    @Option(help: "password or ssh-passphrase. (default: all of them)")
    var kind: CredentialKind?

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let context = try StoreContext()
        let kinds = kind.map { [$0] } ?? CredentialKind.allCases
        let kept = try context.credentials.entries()
        let keys = try kinds.map { try context.key(store.name, $0) }.filter { kept[$0] != nil }
        guard !keys.isEmpty else { throw CommandFailure("no credential is stored for \"\(store.name)\"") }
        let words = keys.map(\.kind.rawValue).joined(separator: " and ")
        try Confirmation.require("Forget the \(words) of \"\(store.name)\"?", yes: yes)
        for key in keys { try context.credentials.delete(key) }
        Output.success("the \(words) of \(store.name) \(keys.count == 1 ? "is" : "are") forgotten")
    }
}

/// `passdir credential list`.
struct CredentialListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List credentials, where they are kept, and when they were made and expire.",
        discussion: "Example: passdir credential list --json", aliases: OtherNames.of("list"))

    @Argument(
        help: "The store; all by default.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String?

    @Flag(help: "Print a JSON array of {store, kind, place, made, expires}.")
    var json = false

    func run() throws {
        let context = try StoreContext()
        let stores =
            try store.map { [try context.registry.definition(named: $0)] } ?? context.registry.definitions()
        let entries = try CredentialReport.all(of: stores, in: context.credentials)
        guard !json else { return Output.print(json: entries) }
        guard !entries.isEmpty else { return }
        var table = TextTable(["STORE", "KIND", "KEPT IN", "MADE", "EXPIRES"])
        for entry in entries {
            table.add([
                entry.store, entry.kind, entry.place, entry.made?.local ?? "-", entry.expires ?? "-",
            ])
        }
        Output.print(table)
    }
}

extension StoreContext {
    /// The key of a store's credential; the store gets its id now if it has none yet.
    func key(_ name: String, _ kind: CredentialKind) throws -> CredentialKey {
        if try registry.configured(name).id == nil { try administration.giveIdentities() }
        guard let id = try registry.configured(name).id else {
            throw CommandFailure("the store \"\(name)\" has no id in the configuration")
        }
        return CredentialKey(store: id, kind: kind)
    }
}
