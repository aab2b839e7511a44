import ArgumentParser
import Daemon
import Git
import OpenPGP
import Settings
import Stores

/// `passdir store set`.
struct StoreSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set a key of a store.",
        discussion: """
            These are the keys of the section [store "NAME"] in the configuration file; 'passdir audit' lists and explains them. \
            Without a value, the default applies again. You cannot set where a store is or what it was cloned from; use \
            'store reclone'.

            Example: passdir store set work syncInterval '10 min'
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(
        help: "The key: mount, autofill, readOnly, authentication, userName, …",
        completion: .custom { _, _, _ in
            Catalogue.storeKeys.filter { !["id", "path", "url", "branch"].contains($0) }
        })
    var key: String

    @Argument(help: "The value; without one, the default applies again.")
    var value: String?

    func run() throws {
        let context = try StoreContext()
        let target = try context.registry.configured(store.name)
        if let refusal = Self.refusal(key, target) { throw CommandFailure(refusal) }
        do throws(SettingsError) {
            try Configuration.check(storeKey: key, value)
        } catch {
            throw WrongUsage(message: error.message)
        }
        try context.registry.configuration.setStore(name: target.name, values: [(key, value)])
        context.daemon.reload()
        Output.success("\(target.name): \(key) is \(value ?? "the default again")")
    }
}

extension StoreSetCommand {
    /// The keys that describe what lies on disk: another value there would be no more than a claim.
    private static func refusal(_ key: String, _ store: StoreDefinition) -> String? {
        let name = store.name
        return switch key.lowercased() {
        case "id": "the id of a store never changes; passdir store add creates a new store"
        case "url", "remote":
            "the remote of a store comes from its repository: passdir store reclone \(ShellWord.quoted(name)) "
                + "--url URL clones from "
                + "another one, and git -C \(store.path) remote set-url origin URL keeps the existing clone"
        case "branch":
            "the branch of a store is the one checked out: passdir store reclone \(ShellWord.quoted(name)) "
                + "--branch BRANCH clones "
                + "another one, and git -C \(store.path) switch BRANCH keeps the existing clone"
        case "path":
            "a store's folder cannot be changed: passdir store remove \(ShellWord.quoted(name)), then passdir "
                + "store add "
                + "\(ShellWord.quoted(name)) --path DIR"
        default: nil
        }
    }
}

/// `passdir store rename`.
struct StoreRenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename a store.",
        discussion: """
            Its folder, its credentials and references to its id do not change.

            Example: passdir store rename work office
            """, aliases: OtherNames.of("rename"))

    @OptionGroup var store: StoreArgument

    @Argument(help: "The new name.")
    var newName: String

    func run() throws {
        let context = try StoreContext()
        try context.registry.rename(store.name, to: newName)
        context.daemon.reload()
        Output.success("\(store.name) is now \(newName)")
    }
}

/// `passdir store move`.
struct StoreMoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move a store before or after another one in the list.",
        discussion: "Example: passdir store move private --before work")

    @OptionGroup var store: StoreArgument

    @Option(help: "Place it right before this store.", completion: StoreContext.completion)
    var before: String?

    @Option(help: "Place it right after this store.", completion: StoreContext.completion)
    var after: String?

    func validate() throws {
        guard (before == nil) != (after == nil) else {
            throw ValidationError("specify where to: --before or --after another store")
        }
    }

    func run() throws {
        let context = try StoreContext()
        let name = try context.registry.configured(store.name).name
        let other = try context.registry.configured(before ?? after ?? "").name
        guard name != other else {
            throw WrongUsage(message: "\(name) cannot be moved before or after itself: name another store")
        }
        try context.registry.configuration.moveStore(
            name: name, to: before == nil ? .after(other) : .before(other))
        context.daemon.reload()
        Output.success("\(name) now comes \(before == nil ? "after" : "before") \(other)")
    }
}

/// Where a store is hidden or shown.
struct VisibilityOptions: ParsableArguments {
    @Flag(help: "In the mount.")
    var mount = false

    @Flag(help: "In look-ups by programs that fill in passwords (autofill).")
    var autofill = false

    /// Sets the switches that are named; both when none is.
    func set(_ name: String, to isVisible: Bool) throws {
        let context = try StoreContext()
        let store = try context.registry.configured(name)
        var values: [(key: String, value: String?)] = []
        let text = isVisible ? nil : "false"
        let isForMount = mount || !autofill
        if !isVisible, isForMount { try Self.checkSaved(store.name, context.daemon) }
        if isForMount { values.append(("mount", text)) }
        if autofill || !mount { values.append(("autofill", text)) }
        try context.registry.configuration.setStore(name: store.name, values: values)
        context.daemon.reload()
        if isForMount, context.daemon.isRunning, !DiskLook.at(store.path).answers {
            let rest = isVisible ? "the store is shown" : "what is being saved there is saved"
            StandardError.print("passdir: the disk of \(store.name) does not answer: \(rest) once it does")
        }
        let places = [isForMount ? "in the mount" : nil, autofill || !mount ? "for autofill" : nil]
        let place = places.compactMap(\.self).joined(separator: " and ")
        guard !isVisible else { return Output.success("\(store.name) is shown \(place)") }
        let rest =
            isForMount
            ? ": it is not fetched or pushed until passdir store unhide \(ShellWord.quoted(store.name))" : ""
        Output.success("\(store.name) is hidden \(place)\(rest)")
    }

    /// What could not be saved is seen, and mended or given up, in the mount only.
    private static func checkSaved(_ name: String, _ daemon: ServingDaemonClient) throws {
        let unsaved = daemon.stillUnsaved(store: name)
        guard !unsaved.isEmpty else { return }
        let more = unsaved.count > 3 ? " and \(unsaved.count - 3) more" : ""
        throw CommandFailure(
            unsaved.prefix(3).map { "\(name)/\($0)" }.joined(separator: ", ") + more
                + " could not be saved and \(unsaved.count == 1 ? "is" : "are") in memory only: passdir status "
                + "says why; "
                + "hide the store once that is fixed, or drop the text with passdir discard "
                + ShellWord.quoted("\(name)/\(unsaved[0])"))
    }
}

/// `passdir store hide`.
struct StoreHideCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hide",
        abstract: "Hide a store in the mount, from autofill, or both.",
        discussion: """
            Without an option, the store is hidden everywhere. Open files can still be read and saved until they are closed. A \
            store hidden in the mount is not fetched or pushed, and 'passdir sync' skips it. A store with unsaved secrets \
            cannot be hidden.

            Example: passdir store hide work --autofill
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var where_: VisibilityOptions

    func run() throws { try where_.set(store.name, to: false) }
}

/// `passdir store unhide`.
struct StoreUnhideCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unhide", abstract: "Show a hidden store again.",
        discussion: "Example: passdir store unhide work")

    @OptionGroup var store: StoreArgument
    @OptionGroup var where_: VisibilityOptions

    func run() throws { try where_.set(store.name, to: true) }
}
