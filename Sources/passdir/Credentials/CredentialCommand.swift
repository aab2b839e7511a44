import ArgumentParser
import Glibc
import OpenPGP
import Settings
import Stores
import SystemPackage

/// `passdir credential`: what stores' remotes ask for.
struct CredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential",
        abstract: "Keep, list and forget the passwords and tokens of stores' remotes.",
        discussion: """
            They are kept in the Secret Service of the session, or without one in files encrypted to your own key; \
            never in a store, in the configuration or in a log. No command prints one.

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
        abstract: "Keep a credential of a store.",
        discussion: """
            It is asked for on the terminal without being shown, or read from standard input, byte for byte but for \
            one newline at the end.

            Example: passdir credential set work --expires 2027-01-31
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: "password (also a token) or ssh-passphrase.")
    var kind = CredentialKind.password

    @Option(help: ArgumentHelp("The last day on which the server takes it.", valueName: "yyyy-mm-dd"))
    var expires: String?

    func run() throws {
        let context = try StoreContext()
        let key = try context.key(store.name, kind)
        var end: Int64?
        if let expires {
            guard let day = CalendarDay(expires) else {
                throw CommandFailure(
                    "--expires cannot be '\(expires)': it must be a day, such as 2027-01-31")
            }
            end = day.end
        }
        let secret =
            Terminal.isThere
            ? try Terminal.secret("The \(kind.rawValue) of \(store.name): ")
            : try Terminal.standardInput()
        guard let secret else { throw CommandFailure("nothing was given, nothing was changed") }
        try context.credentials.save(secret, as: key, expires: end)
        Output.print("kept in: \(context.credentials.place)")
    }
}

/// `passdir credential forget`.
struct CredentialForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Forget the credentials of a store, or one of them.",
        discussion: "Example: passdir credential forget work")

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
        guard !keys.isEmpty else { throw CommandFailure("no credential of \"\(store.name)\" is kept") }
        let words = keys.map(\.kind.rawValue).joined(separator: " and ")
        try Confirmation.require("Forget the \(words) of \"\(store.name)\"?", yes: yes)
        for key in keys { try context.credentials.delete(key) }
    }
}

/// A credential as `--json` tells of it, without its value.
private struct CredentialEntry: Encodable {
    let store: String
    let kind: String
    let place: String
    let expires: String?

    enum CodingKeys: CodingKey { case store, kind, place, expires }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(kind, forKey: .kind)
        try container.encode(place, forKey: .place)
        try container.encode(expires, forKey: .expires)
    }
}

/// `passdir credential list`.
struct CredentialListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List which credentials are kept, where, and until when.",
        discussion: "Example: passdir credential list --json")

    @Argument(help: "The store; all without it.", completion: StoreContext.completion)
    var store: String?

    @Flag(help: "Print a JSON array of {store, kind, place, expires}.")
    var json = false

    func run() throws {
        let context = try StoreContext()
        let kept = try context.credentials.entries()
        let stores =
            try store.map { [try context.registry.definition(named: $0)] } ?? context.registry.definitions()
        let entries = stores.flatMap { store in
            CredentialKind.allCases.compactMap { kind -> CredentialEntry? in
                guard let id = store.id, let facts = kept[CredentialKey(store: id, kind: kind)] else {
                    return nil
                }
                return CredentialEntry(
                    store: store.name, kind: kind.rawValue, place: facts.place,
                    expires: facts.expires.map { CalendarDay(containing: $0 - 1).description })
            }
        }
        guard !json else { return Output.print(json: entries) }
        guard !entries.isEmpty else { return }
        var table = TextTable(["STORE", "KIND", "KEPT IN", "EXPIRES"])
        for entry in entries { table.add([entry.store, entry.kind, entry.place, entry.expires ?? "-"]) }
        Output.print(table)
    }
}

extension StoreContext {
    /// The key of a store's credential; the store gets its id now if it has none yet.
    func key(_ name: String, _ kind: CredentialKind) throws -> CredentialKey {
        if try registry.configured(name).id == nil { _ = try registry.giveIdentities() }
        guard let id = try registry.configured(name).id else {
            throw CommandFailure("the store \"\(name)\" has no id in the configuration")
        }
        return CredentialKey(store: id, kind: kind)
    }
}

/// What `status` says of credentials that will not be taken much longer.
enum ExpiryWarning {
    /// How long before it is said.
    private static let notice: Int64 = 14 * 86400

    /// A sentence for each credential that has expired or soon will; empty when nothing can be said in a moment.
    static func sentences(environment: [String: String]) -> [String] {
        guard
            let configuration = try? Configuration(file: Configuration.defaultPath(environment: environment)),
            let stores = try? Registry(configuration, environment: environment).definitions()
        else { return [] }
        let credentials = LayeredCredentialStore.standard(
            environment: environment, ownKey: nil, timeout: .seconds(3))
        guard let kept = try? credentials.entries() else { return [] }
        let now = Int64(time(nil))
        return stores.flatMap { store in
            CredentialKind.allCases.compactMap { kind in
                guard let id = store.id, let end = kept[CredentialKey(store: id, kind: kind)]?.expires,
                    end - now < notice
                else { return nil }
                let day = CalendarDay(containing: end - 1)
                return "the \(kind.rawValue) of \"\(store.name)\" "
                    + (end <= now ? "expired on \(day)" : "expires on \(day)")
                    + ": passdir credential set \(ShellWord.quoted(store.name)) keeps a new one"
            }
        }
    }
}
