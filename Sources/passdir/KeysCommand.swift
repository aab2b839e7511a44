import ArgumentParser
import Daemon
import Glibc
import Stores
import System
import SystemPackage

/// `passdir keys`: the keys that recipients are.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Show, import, export and remove the keys of recipients.",
        discussion: """
            'passdir keys [STORE]' lists every key that a .gpg-id names: whether it is yours, how far it is trusted, whether it \
            has expired, expires soon or is missing, and which folders use it.

            Example: passdir keys work
            """,
        subcommands: [
            KeysListCommand.self, KeysImportCommand.self, KeysExportCommand.self, KeysRemoveCommand.self,
        ],
        defaultSubcommand: KeysListCommand.self
    )
}

/// `passdir keys [STORE]`.
struct KeysListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the recipients' keys of a store, or of all stores.",
        discussion: "Example: passdir keys list --json", aliases: OtherNames.of("list"))

    @Argument(
        help: "The store's name; all stores by default.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String?

    @Flag(help: "Also list keys in the keyring that no store names.")
    var all = false

    @Flag(help: "Print a JSON array of the keys.")
    var json = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        if sharing.storeNames.isEmpty, store == nil, !all, !json { try FirstStep.check([]) }
        var (keys, complaints) =
            try store.map(sharing.keysOfUsableLists) ?? sharing.keysOfAllStores()
        if all, complaints.isEmpty { keys += try sharing.unnamedKeys(ofStore: store) }
        if json { Output.print(json: keys) } else { Output.print(lines: Self.lines(keys, store)) }
        for complaint in complaints.dropLast() { StandardError.print("passdir: \(complaint)") }
        if let last = complaints.last { throw CommandFailure(last) }
    }

    /// Names that mean no key come from lists that others may push, in any number.
    private static func lines(_ keys: [KeyReport], _ store: String?) -> [String] {
        let missing = keys.filter { $0.state == .missing }
        let shown = keys.filter { $0.state != .missing } + missing.prefix(Flood.most)
        let rest = missing.dropFirst(Flood.most)
        guard !rest.isEmpty else { return keys.flatMap(lines) }
        var folders: [String] = []
        var known: Set<String> = []
        for folder in rest.flatMap(\.folders) where known.insert(folder).inserted { folders.append(folder) }
        let command = (["passdir keys list"] + [store.map(ShellWord.quoted)].compactMap(\.self)).joined(
            separator: " ")
        return shown.flatMap(lines) + [
            "and \(rest.count) more that are not in the keyring, named in \(Flood.words(folders)): \(command) --json "
                + "shows all"
        ]
    }

    private static func lines(_ key: KeyReport) -> [String] {
        var facts = [sentence(for: key.state)]
        if key.isOwn { facts.append("yours") }
        if key.fingerprint != nil { facts.append("trust \(key.trust)") }
        if let expires = key.expires { facts.append("expires \(expires)") }
        let name = key.userIDs.first ?? ""
        var lines = [
            [key.fingerprint ?? key.id, name].filter { !$0.isEmpty }.joined(separator: "  "),
            "  \(key.id)  " + facts.joined(separator: ", "),
            key.folders.isEmpty
                ? "  not named anywhere" : "  named in " + Flood.words(key.folders),
        ]
        if let problem = key.problem { lines.append("  ! \(problem)") }
        return lines
    }

    private static func sentence(for state: KeyState) -> String {
        switch state {
        case .usable: "usable"
        case .expiring: "expires soon"
        case .expired: "expired"
        case .revoked: "revoked"
        case .disabled: "disabled"
        case .notForEncryption: "not for encryption"
        case .untrusted: "not trusted"
        case .missing: "not in the keyring"
        }
    }
}

/// `passdir keys import`.
struct KeysImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import public keys: from a file, from standard input (-), or from a store's .public-keys.",
        discussion: """
            Shows the keys and asks first. It never removes anything from your keyring, and refuses files with secret keys.

            Example: passdir keys import bob.asc --store work
            """)

    @Argument(
        help: ArgumentHelp(
            "The name of a store, a file (./NAME where a store has that name), or '-'.",
            valueName: "file|-|store"), completion: .file())
    var source: String

    @Option(
        help: "The store whose keyring gets the keys. (default: the one named as source; else GNUPGHOME)",
        completion: StoreContext.completion)
    var store: String?

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Flag(help: "Show the keys; import nothing.")
    var dryRun = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let files = try read(sharing)
        let target = store ?? (isStore(sharing) ? source : nil)
        let keys = try sharing.preview(files, for: target)
        keys.forEach(Self.show)
        if dryRun { return }
        if !yes {
            guard source != "-", Confirmation.isPossible else {
                throw CommandFailure("nothing was imported: --yes imports without asking")
            }
            try Confirmation.require("Import?")
        }
        try sharing.importKeys(files, for: target)
        sharing.retrySaves()
        Self.tell(keys)
    }

    /// A key before it is imported, for whoever has to say whether it is the right one.
    static func show(_ key: KeyPreview) {
        let marks = [key.isKnown ? "known" : "new"] + (key.naming.map { [sentence(for: $0)] } ?? [])
        Output.print(
            "\(key.fingerprint)  \(key.userIDs.joined(separator: ", "))  (\(marks.joined(separator: ", ")))")
    }

    /// How many keys were imported.
    static func tell(_ keys: [KeyPreview]) {
        let (count, known) = (keys.count { !$0.isKnown }, keys.count(where: \.isKnown))
        let imported = count == 1 ? "1 key imported" : "\(count == 0 ? "no" : "\(count)") keys imported"
        Output.notice(known == 0 ? imported : "\(imported), \(known) already known")
    }

    private static func sentence(for naming: KeyNaming) -> String {
        switch naming {
        case .fingerprint, .keyID: "named in .gpg-id"
        case .shortKeyID: "matches an 8-digit key id in .gpg-id, as other keys may: compare the fingerprint"
        case .address: "has an address that .gpg-id names, as other keys may: compare the fingerprint"
        }
    }

    private func isStore(_ sharing: Sharing) -> Bool {
        source != "-" && !source.contains("/") && sharing.storeNames.contains(source)
    }

    private func read(_ sharing: Sharing) throws -> [[UInt8]] {
        if source == "-" { return [try Self.bytes(of: .standardInput, "standard input")] }
        if !isStore(sharing) {
            do {
                let file = try FileDescriptor.open(FilePath(source), .readOnly, options: .closeOnExec)
                defer { try? file.close() }
                return [try Self.bytes(of: file, source)]
            } catch let error as Errno {
                throw CommandFailure("cannot read \(source): \(error)")
            }
        }
        return try sharing.publicKeys(ofStore: source)
    }

    private static func bytes(of file: FileDescriptor, _ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        do {
            while bytes.count <= 1 << 24 {
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
                guard count > 0 else { return bytes }
                bytes += chunk.prefix(count)
            }
        } catch {
            throw CommandFailure("cannot read \(name): \(error)")
        }
        throw CommandFailure("\(name) is too large to be a key file")
    }
}

/// `passdir keys export`.
struct KeysExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the public keys of a store's recipients into its .public-keys.",
        discussion: """
            Others who have the store can then import them. The change is committed.

            Example: passdir keys export work
            """)

    @Argument(
        help: "The store's name.", completion: StoreContext.completion,
        transform: WholeStores.name)
    var store: String

    func run() throws {
        let (written, missing) = try Sharing(environment: CallerEnvironment.variables()).exportKeys(
            ofStore: store)
        Output.notice(lines: written.map { ".public-keys/\($0)" })
        for name in missing { StandardError.warn("\(name) is not exported: its key is not in your keyring") }
    }
}

/// `passdir keys remove`.
struct KeysRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a public key from the keyring if no store names it.",
        discussion: """
            Shows the key and asks first. It refuses a key that has a secret part here or that a store names.

            Example: passdir keys remove 0123456789ABCDEF0123456789ABCDEF01234567
            """, aliases: OtherNames.of("remove"))

    @Argument(
        help: "The key: its fingerprint, or an id or address that only one key matches.",
        completion: PlaceCompletion.keys)
    var key: String

    @Option(
        help: "The store whose keyring has it. (default: that of GNUPGHOME)",
        completion: StoreContext.completion)
    var store: String?

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let sharing = try Sharing(environment: CallerEnvironment.variables())
        let key = try sharing.key(self.key, ofStore: store)
        guard let fingerprint = key.fingerprint else { throw CommandFailure("there is no key \(self.key)") }
        try sharing.checkRemovable(fingerprint, ofStore: store)
        Output.print("\(fingerprint)  \(key.userIDs.joined(separator: ", "))")
        if try Confirmation.mustAsk(unless: yes, "--yes removes it without asking") {
            try Confirmation.require("Remove it from the keyring?")
        }
        try sharing.removeKey(fingerprint, ofStore: store)
        Output.success("removed \(fingerprint)")
    }
}
