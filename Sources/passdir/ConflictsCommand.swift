import ArgumentParser
import Daemon
import Stores
import Sync
import SystemPackage

/// `passdir conflicts`: secrets that were changed on both sides, and how to settle them.
struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List and resolve secrets that were changed on two machines.",
        discussion: """
            If two machines changed the same lines of a secret, the version that reached the remote first keeps the name, \
            and the other is kept beside it as NAME.conflict-HOST-DATE. Combine them in any editor and remove the conflict \
            file, or keep one of them with 'passdir conflicts settle'.

            Example:
              passdir conflicts settle work/imap.conflict-pc-20261124T210900Z --keep named
            """,
        subcommands: [ConflictsListCommand.self, ConflictsSettleCommand.self],
        defaultSubcommand: ConflictsListCommand.self
    )
}

/// `passdir conflicts list`.
struct ConflictsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List conflict files, one per line: STORE/PATH, a tab, and the secret's own path.",
        discussion: "Example: passdir conflicts list work", aliases: OtherNames.of("list"))

    @Argument(help: "The stores; all by default.", completion: StoreContext.completion)
    var stores: [String] = []

    @Flag(help: "Print a JSON array of {store, conflict, secret}; the last two as STORE/PATH.")
    var json = false

    private struct Conflict: Encodable {
        let store: String
        let conflict: String
        let secret: String
    }

    func run() throws {
        let environment = CallerEnvironment.variables()
        let (wanted, complaints): ([StoreAccess], [String]) =
            if stores.isEmpty {
                try StoreAccess.all(environment: environment)
            } else {
                (try StoreAccess.named(stores, environment: environment), [])
            }
        for complaint in complaints { StandardError.print("passdir: \(complaint)") }
        let found = wanted.flatMap { access in
            let store = access.store
            return ConflictList(store).find().map { entry in
                Conflict(
                    store: store.name, conflict: "\(store.name)/\(store.visiblePath(of: entry.path))",
                    secret: "\(store.name)/\(store.visiblePath(of: entry.original))")
            }
        }
        if json {
            Output.print(json: found)
        } else {
            for one in found { Output.print(fields: [one.conflict, one.secret]) }
        }
        if !complaints.isEmpty { throw ExitCode.failure }
    }
}

/// `passdir conflicts settle`.
struct ConflictsSettleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle", abstract: "Keep one of the two versions under the secret's name.",
        discussion: """
            Example:
              passdir conflicts settle work/imap.conflict-pc-20261124T210900Z --keep named
            """)

    @Argument(
        help: "The conflict file: STORE/PATH, PATH in any store, or a path in the mount.",
        completion: PlaceCompletion.conflicts)
    var path: String

    @Option(help: "'named' keeps the version that has the name now, 'conflict' the other one.")
    var keep: ConflictList.Side

    @Flag(name: [.short, .long], help: "Do not ask; it is asked only where a long name had to be cut.")
    var yes = false

    func run() throws {
        let access = try SecretSearch(environment: CallerEnvironment.variables()).past(path, for: .writing)
        let list = ConflictList(access.store)
        guard let entry = list.find().first(where: { $0.path == access.backingPath }) else {
            throw CommandFailure("\(path) is not a conflict; 'passdir conflicts' lists them")
        }
        if keep == .conflict, entry.isNameCut {
            try Confirmation.require(
                "The name of its secret was cut; replace \(access.store.name)/"
                    + "\(VisibleName.visiblePath(of: entry.original, in: access.store.root)) by it?", yes: yes
            )
        }
        let isSettled = try list.settle(entry, keeping: keep) { try access.commit($0, pushing: $1) }
        guard !isSettled else { return Output.success("\(path) is settled") }
        StandardError.print(
            "passdir: \(path) is still a conflict: a version saved in the meantime now has that name")
    }
}

extension ConflictList.Side: ExpressibleByArgument {}
