import ArgumentParser
import Daemon
import Settings
import Stores
import SystemPackage

/// `passdir store reclone`.
struct StoreRecloneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reclone",
        abstract: "Clone a store anew, from its remote or from another one.",
        discussion: """
            The old folder is replaced when the new clone is there, not before; the store stays the same one, with \
            its id and its settings. With a URL on another server its credentials are asked for anew. What of the old \
            folder exists nowhere else (the remote is asked) is listed, and the folder is moved to \
            ~/.local/share/passdir/removed instead of being deleted.

            Example: passdir store reclone work --branch main
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: "Another repository. (default: the one that it is cloned from)")
    var url: String?

    @Option(help: "Another branch. (default: the same one; with --url the remote's own)")
    var branch: String?

    @OptionGroup var login: LoginOptions

    @Flag(help: "Delete the old folder, also what exists nowhere else.")
    var force = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let context = try StoreContext()
        let (plan, isOtherHost) = try context.administration.recloneWish(
            store.name, url: url.map(LoginOptions.absolute), branch: branch)
        var wish = try login.wish(plan.name, plan.url, plan.branch)
        if login.authentication == nil { wish.method = plan.method }
        wish.userName = wish.userName ?? plan.userName
        wish.sshKey = wish.sshKey ?? plan.sshKey
        wish.secrets.merge(plan.secrets) { given, _ in given }
        let folder = try context.registry.configured(store.name).path
        if !force {
            try context.administration.unsharedWork(ofStore: store.name, purge: true)
                .print(of: folder.string)
        }
        try Confirmation.require("Replace \(folder) by a new clone of \(wish.url.text)?", yes: yes)
        var old: PutAway?
        let report = try CloneTerminal.run(wish) { (wish, progress) throws(LifecycleError) in
            let (report, away) = try context.administration.reclone(
                wish, isOtherHost: isOtherHost, force: force, progress: progress)
            old = away
            return report
        }
        report.print(wish.name)
        old?.print()
    }
}

/// `passdir store remove`.
struct StoreRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a store from passdir.",
        discussion: """
            Its section of the configuration, its credentials and what was learned of it go. Its folder goes when \
            passdir cloned it; one that was adopted stays, unless --purge says otherwise. What of it exists nowhere \
            else (the remote is asked) is listed, and the folder is moved to ~/.local/share/passdir/removed instead \
            of being deleted, unless --force says otherwise.

            Example: passdir store remove work
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Remove the folder of an adopted store, too.")
    var purge = false

    @Flag(help: "Delete the folder, also what exists nowhere else.")
    var force = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let context = try StoreContext()
        let name = try context.registry.configured(store.name).name
        if let folder = try context.administration.folderToRemove(name, purge: purge) {
            let work =
                force
                ? UnsharedWork() : try context.administration.unsharedWork(ofStore: name, purge: purge)
            work.print(of: folder.string)
            try Confirmation.require(
                work.isEmpty
                    ? "Remove the store \"\(name)\" and its folder \(folder)?"
                    : "Remove the store \"\(name)\"? Its folder is moved, not deleted.", yes: yes)
        } else {
            try Confirmation.require("Remove the store \"\(name)\"? Its folder stays.", yes: yes)
        }
        try context.administration.remove(name, purge: purge, force: force)?.print()
        if try context.registry.definitions().isEmpty, !context.daemon.isRunning {
            Daemon.giveBackMountPoints(environment: context.environment)
        }
    }
}

/// `passdir erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Remove everything that passdir ever made.",
        discussion: """
            The configuration, the stores that passdir cloned, all credentials it keeps, its log and what it \
            learned. Stores that it only adopted stay as they are, and so do cloned ones with what exists nowhere else: \
            these are moved to ~/.local/share/passdir/removed, which stays. Unmount first.

            Example: passdir unmount && passdir erase
            """
    )

    @Flag(help: "Delete cloned stores with what exists nowhere else, and those that were moved before.")
    var force = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let context = try StoreContext()
        guard !context.daemon.isRunning else {
            throw CommandFailure("your stores are mounted: run passdir unmount first")
        }
        let (paths, credentials) = try context.administration.everything()
        if !force {
            for (name, work) in try context.administration.unsharedWorkOfAll() { work.print(of: name) }
        }
        let list = paths.map(\.string).joined(separator: ", ")
        try Confirmation.require(
            "Remove \(list.isEmpty ? "no file" : list) and \(credentials) credential"
                + "\(credentials == 1 ? "" : "s")?", yes: yes)
        Daemon.giveBackMountPoints(environment: context.environment)
        let moved = try context.administration.eraseEverything(force: force)
        for away in moved { away.print() }
        let earlier = context.administration.leftInRemoved.filter { left in
            !moved.contains { $0.place == left }
        }
        if let folder = earlier.first?.removingLastComponent() {
            let names = earlier.compactMap(\.lastComponent?.string).joined(separator: ", ")
            StandardError.print(
                "passdir: \(folder) still holds what was moved there earlier: \(names); keep what you need, then delete "
                    + "the folder or run passdir erase --force")
        }
    }
}
