import ArgumentParser
import Daemon
import Settings
import Stores
import SystemPackage

/// `passdir store reclone`.
struct StoreRecloneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reclone",
        abstract: "Clone a store again, from its remote or from another one.",
        discussion: """
            The old folder is replaced only once the new clone is complete. The store keeps its id and settings. If the URL is on \
            another server, you are asked for credentials again. If the old folder holds anything that exists nowhere else \
            (the remote is asked), it is listed, and the folder is moved to ~/.local/share/passdir/removed instead of being \
            deleted.

            Example: passdir store reclone work --branch main
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: "Another repository. (default: the one it was cloned from)")
    var url: String?

    @Option(help: "Another branch. (default: the current one; with --url, the remote's default)")
    var branch: String?

    @OptionGroup var login: LoginOptions

    @Flag(help: "Delete the old folder, even if it holds data that exists nowhere else.")
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
        try Confirmation.require("Replace \(folder) with a new clone of \(wish.url.text)?", yes: yes)
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
            Removes the store's section of the configuration, its credentials, and what passdir has learned about it. Its folder \
            is deleted if passdir cloned it; an adopted folder stays unless you pass --purge. If the folder holds anything \
            that exists nowhere else (the remote is asked), it is listed, and the folder is moved to \
            ~/.local/share/passdir/removed instead; --force deletes it.

            Example: passdir store remove work
            """, aliases: OtherNames.of("remove"))

    @OptionGroup var store: StoreArgument

    @Flag(help: "Also remove the folder of an adopted store.")
    var purge = false

    @Flag(help: "Delete the folder, even if it holds data that exists nowhere else.")
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
        let away = try context.administration.remove(name, purge: purge, force: force)
        away?.print()
        Output.success("removed \(name)")
        let places = context.registry.configuration.accessSections.map(\.place)
        if places.contains(where: { $0 == name || $0.hasPrefix("\(name)/") }) {
            StandardError.print(
                "passdir: the access rules of \(name) stay, for a store of that name: passdir access shows them, and "
                    + "passdir access unset PLACE removes them")
        }
        if try context.registry.definitions().isEmpty, !context.daemon.isRunning {
            Daemon.giveBackMountPoints(environment: context.environment)
        }
    }
}

/// `passdir erase`.
struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Remove everything that passdir created.",
        discussion: """
            Removes the configuration, the stores that passdir cloned, its credentials, its log, and what it has learned. Links that \
            it placed are taken back. Adopted stores stay. Cloned stores that hold something that exists nowhere else are moved to \
            ~/.local/share/passdir/removed, which also stays. Unmount first.

            Example: passdir unmount && passdir erase
            """
    )

    @Flag(help: "Delete those cloned stores, too, and everything that was moved earlier.")
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
        for sentence in LinkPlacement(environment: context.environment).removeAll() {
            StandardError.warn(sentence)
        }
        let moved = try context.administration.eraseEverything(force: force)
        for away in moved { away.print() }
        Output.success("removed what passdir had created")
        let earlier = context.administration.leftInRemoved.filter { left in
            !moved.contains { $0.place == left }
        }
        if let folder = earlier.first?.removingLastComponent() {
            let names = earlier.compactMap(\.lastComponent?.string).joined(separator: ", ")
            StandardError.print(
                "passdir: \(folder) still holds what was moved there earlier: \(names); keep what you need, "
                    + "then delete "
                    + "the folder or run passdir erase --force")
        }
    }
}
