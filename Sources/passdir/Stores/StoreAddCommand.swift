import ArgumentParser
import Daemon
import Git
import Glibc
import Settings
import Stores
import System
import SystemPackage

/// `passdir store add`: adopts a store that is there, or clones one.
struct StoreAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a password store: adopt a folder, or clone a repository.",
        discussion: """
            With --path, the folder stays where it is, unchanged; you can keep using 'pass' and 'git' on it. It must have a \
            .gpg-id. With --init, passdir writes one first, as 'pass init' does, and creates the folder if needed. With --url, \
            the repository is cloned into passdir's own folder; a failed clone leaves nothing behind. A running mount shows \
            the store at once.

            passdir warns you if your keys cannot read the store, or if keys that .gpg-id names are missing. It shows those \
            in the store's .public-keys, and imports them if you say yes on a terminal.

            Never pass a password or token as an argument: other users of the machine can see it. passdir asks \
            for it on a terminal, or reads it from standard input with --password-stdin, and keeps it in the Secret \
            Service, or without one encrypted to your own key.

            Example: passdir store add team --url https://git.example.org/team/passwords.git
            """
    )

    @Argument(help: "The store's name: its directory under the mount point.")
    var name: String

    @Option(
        help: ArgumentHelp("The folder with the encrypted files.", valueName: "dir"), completion: .directory)
    var path: String?

    @Option(help: ArgumentHelp("The repository to clone: an HTTPS or SSH URL, or a path."))
    var url: String?

    @Option(help: "The branch to check out. (default: the remote's own)")
    var branch: String?

    @Flag(help: "With --path: make the folder a password store, with a .gpg-id.")
    var `init` = false

    @Option(
        help: ArgumentHelp(
            "With --init: a key to encrypt to; repeatable. (default: your only secret key)",
            valueName: "key"))
    var recipient: [String] = []

    @Flag(help: "With --init: allow a store that none of your keys can read.")
    var lockMeOut = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Option(
        help: ArgumentHelp("A GnuPG home with this store's keys, instead of GNUPGHOME.", valueName: "dir"),
        completion: .directory)
    var keyring: String?

    @Option(
        help: ArgumentHelp("Use the key and keyring of another store.", valueName: "store"),
        completion: StoreContext.completion)
    var keyOf: String?

    @OptionGroup var login: LoginOptions

    func validate() throws {
        for (option, text) in [("--path", path), ("--url", url), ("--keyring", keyring)] where text == "" {
            throw ValidationError("'\(option)' is empty")
        }
        guard path == nil || url == nil else {
            throw ValidationError("'--path' and '--url' cannot be used together")
        }
        guard keyring == nil || keyOf == nil else {
            throw ValidationError("'--keyring' and '--key-of' cannot be used together")
        }
        guard path != nil || !`init` else { throw ValidationError("'--init' requires '--path'") }
        guard `init` || !lockMeOut else { throw ValidationError("'--lock-me-out' requires '--init'") }
        guard `init` || recipient.isEmpty else { throw ValidationError("'--recipient' requires '--init'") }
        guard (path == nil) != (url == nil) else {
            throw ValidationError(
                "specify where the store is: --path DIR to adopt it, or --url URL to clone it")
        }
        guard url != nil || branch == nil else { throw ValidationError("'--branch' requires '--url'") }
    }

    func run() throws {
        let context = try StoreContext()
        let other = try keyOf.map { try context.registry.definition(named: $0) }
        let keys = StoreKeys(key: other?.key, keyring: try keyring.map(Self.keyring) ?? other?.keyring)
        let implicit = try context.registry.implicitStore()
        if let path {
            let folder = try adopt(FilePath(path).absolute, keys, context)
            Sharing.noteRecipients(ofStore: name, environment: context.environment)
            context.daemon.reload()
            try implicit?.sayFarewell(context.registry)
            context.administration.inspect(folder, name: name, keyring: keys.keyring).warnings.forEach(
                StandardError.warn)
            Output.success("added \(name): \(path)")
            return try offerKeys(context)
        }
        guard let remote = RemoteURL(LoginOptions.absolute(url ?? "")) else {
            throw WrongUsage(message: "\"\(GitError.cleanedURL(url ?? ""))\" is not a URL that git can clone")
        }
        var wish = try login.wish(name, remote, branch)
        wish.key = keys.key
        wish.keyring = keys.keyring
        let report = try CloneTerminal.run(wish) { (wish, progress) throws(LifecycleError) in
            try context.administration.add(wish, progress: progress)
        }
        Sharing.noteRecipients(ofStore: name, environment: context.environment)
        report.print(name)
        try implicit?.sayFarewell(context.registry)
        try offerKeys(context)
    }
}

extension StoreAddCommand {
    /// Adds a folder; with `--init` it is made where it is not there, and goes again when anything fails.
    private func adopt(
        _ path: FilePath, _ keys: StoreKeys, _ context: StoreContext
    ) throws -> FilePath {
        guard `init` else {
            let folder = try context.registry.placeForNew(name: name, path: path)
            try context.registry.add(name: name, path: folder, key: keys.key, keyring: keys.keyring)
            return folder
        }
        let (folder, isMade) = try context.registry.makePlaceForNew(name: name, path: path)
        do {
            try initialize(folder, keys, context)
        } catch {
            // With anything in it, it stays.
            if isMade { rmdir(folder.string) }
            throw error
        }
        try context.registry.add(name: name, path: folder, key: keys.key, keyring: keys.keyring)
        return folder
    }

    /// As `recipients set`: whoever names none of their own keys is asked.
    private func initialize(_ folder: FilePath, _ keys: StoreKeys, _ context: StoreContext) throws {
        let sharing = try Sharing(environment: context.environment)
        let plan = try sharing.planInitialization(
            of: folder, name: name, keyring: keys.keyring,
            recipients: recipient.isEmpty ? keys.key.map { [$0] } ?? [] : recipient)
        var isLockedOut = lockMeOut
        if plan.locksOut, !lockMeOut, !yes, Confirmation.isPossible {
            Output.print("None of these keys is yours: you will not be able to read what is in \(name).")
            try Confirmation.require("Lock yourself out?")
            isLockedOut = true
        }
        try sharing.initialize(plan, isLockedOut: isLockedOut)
        Output.success("Password store initialized for \(plan.lines.joined(separator: ", "))")
        guard !folder.appending(".git").exists else { return }
        let outer = StoreRepositories.outer(around: folder).map {
            ", as the repository in \($0) is none of the store's"
        }
        Output.success(
            "\(name) keeps no history\(outer ?? ""): git init \(ShellWord.quoted(folder.string)) makes it a git repository"
        )
    }

    /// Where keys are missing that the store's lists name, and its `.public-keys` brings some: shows those, and imports
    /// them when the user says so. What others pushed is never imported unasked, `--yes` or not.
    private func offerKeys(_ context: StoreContext) throws {
        let sharing = try Sharing(environment: context.environment)
        let missing: [String]
        var offer: OfferedKeys?
        do throws(DaemonError) {
            missing = try sharing.missingKeys(ofStore: name)
            if !missing.isEmpty { offer = try sharing.offeredKeys(ofStore: name) }
        } catch {
            return StandardError.warn(error.message)
        }
        guard let first = missing.first else { return }
        StandardError.warn(
            "no key here matches the .gpg-id line \(first)"
                + (missing.count > 1 ? ", and \(missing.count - 1) more are missing" : "")
                + ", so nothing can be saved where it is named")
        guard let offer else { return }
        let command = "passdir keys import \(ShellWord.quoted(name))"
        guard Confirmation.isPossible, !yes else {
            return StandardError.print(
                "passdir: the store has keys in .public-keys: \(command) imports them")
        }
        offer.keys.forEach(KeysImportCommand.show)
        guard
            Confirmation.asks(
                "Import these keys, which anyone who can write to the store may have put there?")
        else {
            return StandardError.print("passdir: nothing was imported; \(command) imports them later")
        }
        try sharing.importKeys(offer.files, for: name)
        sharing.retrySaves()
        KeysImportCommand.tell(offer.keys)
    }

    /// The absolute path of a GnuPG home, which must be there.
    static func keyring(_ path: String) throws -> FilePath {
        let folder = FilePath(path).absolute
        guard folder.targetFacts()?.kind == .directory else {
            throw CommandFailure("\(folder) is not a folder: name a GnuPG home with --keyring")
        }
        return folder
    }
}

/// Which keys of the user's are a store's.
private struct StoreKeys {
    /// As in `.gpg-id`.
    let key: String?
    /// A GnuPG home; nil is that of GNUPGHOME.
    let keyring: FilePath?
}

/// How the remote is told who we are.
struct LoginOptions: ParsableArguments {
    @Option(help: "none, ssh-agent, ssh-key, password or helper. (default: as the URL suggests)")
    var authentication: String?

    @Option(help: "Your user name at the remote.")
    var userName: String?

    @Option(help: ArgumentHelp("A private SSH key file.", valueName: "file"), completion: .file())
    var sshKey: String?

    @Flag(help: "Read the password, token or passphrase of the key from standard input.")
    var passwordStdin = false

    func wish(_ name: String, _ url: RemoteURL, _ branch: String?) throws -> CloneWish {
        var method: AuthenticationMethod?
        if let authentication {
            guard let known = AuthenticationMethod(rawValue: authentication) else {
                let words = AuthenticationMethod.allCases.map(\.rawValue).joined(separator: ", ")
                throw WrongUsage(
                    message: "--authentication cannot be '\(authentication)': it must be one of \(words)")
            }
            method = known
        }
        var wish = try CloneWish(
            name: name, url: url, branch: branch, method: method, userName: userName,
            sshKey: sshKey.map { FilePath($0).absolute })
        if passwordStdin {
            guard let secret = try Terminal.standardInput() else {
                throw CommandFailure("standard input is empty: no password was given")
            }
            wish.secrets[url.isSSH && method != .password ? .sshPassphrase : .password] = secret
        }
        return wish
    }

    /// A path of this machine is as the caller's shell means it; URLs stay.
    static func absolute(_ url: String) -> String {
        guard !url.contains("://"), !url.isEmpty else { return url }
        let head = url.prefix { $0 != "/" }
        return head.contains(":") ? url : FilePath(url).absolute.string
    }
}

extension StoreDefinition {
    /// Tells what became of a store that was shown without any set-up, now that another one was added.
    func sayFarewell(_ registry: Registry) throws {
        if let sentence = try registry.farewell(to: self) { StandardError.print("passdir: \(sentence)") }
    }
}

extension StoreAdministration.CloneReport {
    /// Tells what was cloned.
    func print(_ name: String) {
        warnings.forEach(StandardError.warn)
        Output.success("added \(name): \(secrets) secret\(secrets == 1 ? "" : "s")")
    }
}
