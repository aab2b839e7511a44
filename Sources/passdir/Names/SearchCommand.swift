import ArgumentParser
import Daemon
import Stores
import System
import SystemPackage

/// A name that was found, as `--json` tells of it.
struct NameFacts: Encodable {
    let name: String
    let store: String
    let path: String
    let identifier: String
}

/// Which stores are looked at.
struct NameScope: ParsableArguments {
    @Option(help: "Only this store.", completion: StoreContext.completion)
    var store: String?

    @Flag(help: "Use the stores visible to autofill instead of those in the mount.")
    var autofill = false

    /// Says of each of all stores that cannot be opened why: it says nothing of the others. One that is named must be there.
    /// - Returns: the others, and whether these are all.
    func stores(_ registry: Registry) throws -> (readable: [StoreDefinition], isWhole: Bool) {
        let environment = CallerEnvironment.variables()
        let visible = try registry.definitions().filter { autofill ? $0.isInAutofill : $0.isInMount }
        guard let store else {
            DiskLook.lookAhead(at: visible)
            let readable = visible.filter { store in
                do throws(DaemonError) {
                    _ = try store.root(for: .reading, environment: environment)
                    return true
                } catch {
                    StandardError.print("passdir: \(error.message)")
                    return false
                }
            }
            return (readable, readable.count == visible.count)
        }
        let wanted = try registry.definition(named: store)
        _ = try wanted.root(for: .reading, environment: environment)
        return (visible.filter { $0.name == wanted.name }, true)
    }

    /// The names in a store; none where its folder can be no store.
    static func secrets(of store: StoreDefinition) -> [String] {
        let environment = CallerEnvironment.variables()
        guard StorePlace.objection(toLinked: store.path, environment: environment) == nil else { return [] }
        return NameWalk.secrets(in: store.path)
    }
}

/// What is looked for, where, and how it is told.
struct NameQuery: ParsableArguments {
    @Argument(help: "What to look for.")
    var words: [String]

    @OptionGroup var scope: NameScope

    @Flag(help: "Print a JSON array of {name, store, path, identifier}.")
    var json = false
}

/// `passdir search`.
struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find secrets by name in all visible stores.",
        discussion: """
            The path must contain every word; case is ignored. The best match comes first. Nothing is decrypted. The exit status \
            is 1 if nothing is found, or a store cannot be opened.

            Example: passdir search mail imap
            """
    )

    @OptionGroup var query: NameQuery

    func run() throws {
        let search = NameSearch(query.words)
        var found: [(rank: Int, store: StoreDefinition, path: String)] = []
        let (stores, isWhole) = try query.scope.stores(try StoreContext().registry)
        for store in stores {
            for path in NameScope.secrets(of: store) {
                guard let rank = search.rank(path) else { continue }
                found.append((rank, store, path))
            }
        }
        // Equal ranks keep the order of stores and names.
        let sorted = found.enumerated().sorted {
            ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
        }
        NameOutput.print(sorted.map { ($0.element.store, $0.element.path) }, json: query.json)
        guard !found.isEmpty, isWhole else { throw ExitCode.failure }
    }
}

/// `passdir list`.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the names of all secrets in all visible stores.",
        discussion: """
            Prints one STORE/PATH per line. Nothing is decrypted. The exit status is 1 if a store cannot be opened.

            Example: passdir list work/mail
            """, aliases: OtherNames.of("list")
    )

    @Argument(
        help:
            "A store or a folder: STORE, STORE/FOLDER, FOLDER in any store, ID:FOLDER or a path in the mount.",
        completion: PlaceCompletion.anyFolders)
    var place: String?

    @OptionGroup var scope: NameScope

    @Flag(help: "Print a JSON array of {name, store, path, identifier}.")
    var json = false

    func run() throws {
        let registry = try StoreContext().registry
        if let place,
            !TypedPlace.isMountPoint(place, environment: CallerEnvironment.variables())
        {
            NameOutput.print(try found(at: place, registry), json: json)
        } else {
            let (stores, isWhole) = try scope.stores(registry)
            let found = stores.flatMap { store in NameScope.secrets(of: store).map { (store, $0) } }
            NameOutput.print(found, json: json)
            guard isWhole else { throw ExitCode.failure }
        }
    }

    private func found(
        at place: String, _ registry: Registry
    ) throws -> [(store: StoreDefinition, path: String)] {
        if let other = scope.store {
            throw WrongUsage(message: "name a place or a store, not both: \(place), --store \(other)")
        }
        let environment = CallerEnvironment.variables()
        let search = try SecretSearch(environment: environment)
        let there = try search.existing(place, for: .reading)
        let store = try registry.definition(named: there.store.name)
        // What is named as a secret and has a folder beside it is that, too.
        let folder = there.kind == .folder ? there.file : FilePath(there.file.withoutSuffix.string)
        let found = NameScope.secrets(of: store).filter {
            $0 == there.path.string || FilePath($0).starts(with: folder)
        }
        return found.map { (store, $0) }
    }
}

/// Prints names, by one write for many.
enum NameOutput {
    static func print(_ found: [(store: StoreDefinition, path: String)], json: Bool) {
        guard !json else {
            Output.print(
                json: found.map { store, path in
                    NameFacts(
                        name: "\(store.name)/\(path)", store: store.name, path: path,
                        identifier: store.id.map { "\($0):\(path)" } ?? "\(store.name)/\(path)")
                })
            return
        }
        Output.print(lines: found.map { "\($0.store.name)/\($0.path)" })
    }
}
