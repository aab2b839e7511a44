import ArgumentParser
import Daemon
import Stores
import Sync
import SystemPackage

/// `passdir conflicts`: secrets that were changed on both sides, and how to settle them.
struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List and settle secrets that were changed on two machines.",
        discussion: """
            Where two machines changed the same lines of a secret, the version that reached the remote first keeps \
            the name, the other one lies beside it as NAME.conflict-HOST-DATE. Put together what you want to keep \
            with any editor and remove the conflict file, or let 'passdir conflicts settle' do it.
            """,
        subcommands: [ConflictsListCommand.self, ConflictsSettleCommand.self],
        defaultSubcommand: ConflictsListCommand.self
    )
}

/// `passdir conflicts list`.
struct ConflictsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List conflict files, one a line: STORE/PATH, a tab, the secret's own path.")

    @Argument(help: "The stores; all when none is named.")
    var stores: [String] = []

    func run() throws {
        let all = try StoreAccess.all(named: stores, environment: CallerEnvironment.variables())
        for access in all {
            for entry in ConflictList(access.store).find() {
                let store = access.store
                Output.print(
                    fields: [entry.path, entry.original].map {
                        "\(store.name)/\(store.visiblePath(of: $0))"
                    })
            }
        }
    }
}

/// `passdir conflicts settle`.
struct ConflictsSettleCommand: ParsableCommand {
    /// Whose version stays.
    enum Side: String, ExpressibleByArgument, CaseIterable {
        /// The conflict file's.
        case conflict
        /// The one that has the name.
        case named
    }

    static let configuration = CommandConfiguration(
        commandName: "settle", abstract: "Keep one of the two versions under the secret's name.")

    @Argument(help: "The conflict file, as 'passdir conflicts' lists it.")
    var path: String

    @Option(help: "'named' keeps the version that has the name now, 'conflict' the other one.")
    var keep: Side

    func run() throws {
        let access = try StoreAccess.open(
            path, for: .writing, environment: CallerEnvironment.variables())
        let list = ConflictList(access.store).find()
        guard let entry = list.first(where: { $0.path == access.backingPath }) else {
            throw CommandFailure("\(path) is no conflict; 'passdir conflicts' lists them")
        }
        try settle(entry, access)
    }

    private func settle(_ entry: ConflictList.Entry, _ access: StoreAccess) throws {
        let root = access.store.root
        let loser = keep == .named ? entry.path : entry.original
        let known = (try? root.statusIfPresent(of: loser)) ?? nil
        // The version that gives way must be in the history before.
        try access.commit([.saved(entry.path), .saved(entry.original)], pushing: false)
        var isSettled = true
        do throws(Errno) {
            if keep == .conflict { _ = try root.takePlace(of: entry.original, movingOldTo: entry.path) }
            // The loser has the conflict's name now, whichever it was.
            if let found = try root.statusIfPresent(of: entry.path) {
                isSettled = known?.isSameContent(as: found) ?? false
                if isSettled { try root.unlink(entry.path) }
            }
            try root.synchronizeParent(of: entry.path)
        } catch {
            throw CommandFailure("\(path) cannot be settled: \(error)")
        }
        try access.commit([.saved(entry.original), .saved(entry.path)])
        guard !isSettled else { return }
        StandardError.print(
            "passdir: \(path) stays a conflict: a version that was saved meanwhile has that name now")
    }
}
