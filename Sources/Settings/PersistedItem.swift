import Glibc
import SystemPackage

/// Something that passdir keeps beside its settings: a file, a folder, a table, an item of a keyring.
public struct PersistedItem: Sendable {
    /// Where it lies.
    public enum Place: String, Sendable, CaseIterable, Codable {
        /// `$XDG_CONFIG_HOME/passdir`
        case configuration
        /// `$XDG_STATE_HOME/passdir`
        case state
        /// `$XDG_DATA_HOME/passdir`
        case data
        /// `$XDG_RUNTIME_DIR/passdir`
        case runtime
        /// The folder of a store.
        case store
        /// The folder beside that of a store.
        case besideStore = "beside a store"
        /// The `.git` of a store.
        case git
        /// A table of `state.sqlite`.
        case table
        /// A row of the table `storeState`, by its name.
        case fact
        /// The Secret Service of the session, by the item's schema.
        case secretService = "Secret Service"
    }

    /// What it is called in the catalogue.
    public let name: String
    /// What it is made of.
    public let type: String
    /// Where it lies.
    public let place: Place
    /// Its path below the place, a pattern a component: `*` stands for any text, a last `**` for everything below. For a
    /// table, a fact or an item of a keyring its name.
    public let pattern: String
    /// How it is to be protected.
    public let protection: SettingProtection
    /// The part that writes it.
    public let owner: SettingOwner
    /// One line: what it is for, and how long it stays.
    public let description: String

    /// Whether a path below the place, or a name, is this item.
    public func matches(_ path: String) -> Bool {
        let pattern = pattern.split(separator: "/").map(String.init)
        let parts = path.split(separator: "/").map(String.init)
        for (index, component) in pattern.enumerated() {
            if component == "**" { return true }
            guard index < parts.count, fnmatch(component, parts[index], 0) == 0 else { return false }
        }
        return pattern.count == parts.count
    }
}

extension Catalogue {
    /// Everything that is kept beside the settings, each declared once.
    public static let persisted: [PersistedItem] = uniqueItems([
        item(
            "configuration", "git-config text", .configuration, "config", .personal, .stores,
            "The settings and the list of stores; stays until passdir erase"),
        item(
            "configuration lock", "file", .configuration, "config.lock", .none, .stores,
            "Held while the configuration is written, then removed"),
        item(
            "configuration copy", "git-config text", .configuration, "config.new*", .personal, .stores,
            "The new configuration while it is written, then removed"),
        item("log", "text", .state, "log", .personal, .daemon, "What the daemon did; never a secret"),
        item(
            "state", "SQLite", .state, "state.sqlite", .personal, .stores,
            "What passdir has learned and could learn again"),
        item(
            "state journal", "SQLite", .state, "state.sqlite-*", .personal, .stores,
            "SQLite's write-ahead log of the state"),
        item(
            "damaged state", "SQLite", .state, "state.sqlite.damaged*", .personal, .stores,
            "A state that could not be read, set aside"),
        item(
            "access log", "SQLite", .state, "access.sqlite", .personal, .access,
            "Which programs read which secrets; never their content"),
        item(
            "access log journal", "SQLite", .state, "access.sqlite-*", .personal, .access,
            "SQLite's write-ahead log of the access log"),
        item(
            "damaged access log", "SQLite", .state, "access.sqlite.damaged*", .personal, .access,
            "An access log that could not be read, set aside"),
        item(
            "operations", "folder", .state, "operations", .none, .stores,
            "The journal of operations on stores"),
        item(
            "operation lock", "file", .state, "operations/lock", .none, .stores,
            "Held while a store is added, replaced or removed"),
        item(
            "operation", "NUL-separated text", .state, "operations/*", .personal, .stores,
            "An operation on a store in progress, so that an interrupted one is finished or undone"),
        item("clones", "folder", .data, "stores", .none, .stores, "The stores that passdir cloned"),
        item(
            "clone", "git repository", .data, "stores/*/**", .ciphertext, .stores,
            "A store that passdir cloned; stays until the store is removed"),
        item(
            "removed folders", "folder", .data, "removed", .none, .stores,
            "Folders of stores that were removed or cloned again while they held data that exists nowhere else"
        ),
        item(
            "removed folder", "folder", .data, "removed/*/**", .ciphertext, .stores,
            "The folder of such a store as it was; stays until you remove it, or passdir erase --force"),
        item(
            "credentials", "folder", .data, "credentials", .none, .stores,
            "Credentials if there is no Secret Service"),
        item(
            "credential", "OpenPGP message", .data, "credentials/*.gpg", .secret, .stores,
            "A credential of a store, encrypted to the user's own key"),
        item(
            "credential expiry", "text", .data, "credentials/*.expires", .none, .stores,
            "When a credential expires"),
        item(
            "credential copy", "OpenPGP message or text", .data, "credentials/*.new", .secret, .stores,
            "A credential while it is written, then removed"),
        item(
            "credential item", "bytes", .secretService, "org.passdir.Credential", .secret, .stores,
            "A credential of a store in the user's keyring"),
        item(
            "control socket", "socket", .runtime, "control", .personal, .daemon,
            "Where commands reach the daemon; removed when it exits"),
        item(
            "control lock", "file", .runtime, "control.lock", .none, .daemon, "Held by the running daemon"),
        item(
            "clipboard's holder", "process number", .runtime, "clipboard", .none, .daemon,
            "Which process takes a copied secret from the clipboard again"),
        item(
            "counting", "file", .runtime, "counting", .none, .daemon,
            "Held while a one-time code is counted"),
        item(
            "new ciphertext", "OpenPGP message", .store, ".passdir-*.tmp", .ciphertext, .stores,
            "A secret while it is saved, then removed"),
        item(
            "mount points", "fields ended by NUL", .data, "mountpoints", .personal, .daemon,
            "The folders used as mount points, with the modes they had before; stays until passdir erase"),
        item(
            "mount points' copy", "fields ended by NUL", .data, "mountpoints.new", .personal, .daemon,
            "That list while it is written, then removed"),
        item(
            "links", "fields ended by NUL", .data, "links", .personal, .daemon,
            "The links that passdir link placed, and where what they replaced is kept; stays until passdir unlink"
        ),
        item(
            "links' copy", "fields ended by NUL", .data, "links.new", .personal, .daemon,
            "That list while it is written, then removed"),
        item(
            "links' lock", "file", .data, "links.lock", .none, .daemon,
            "Held while a link is placed or removed"),
        item(
            "recipient record", "fields ended by NUL", .data, "recipients", .personal, .stores,
            "Whom each .gpg-id named when you last approved it"),
        item(
            "recipient record's copy", "fields ended by NUL", .data, "recipients.new", .personal, .stores,
            "The record while it is written, then removed"),
        item(
            "mark of a record", "file", .state, "agreed/**", .personal, .stores,
            "Marks that a store has a recipient record, so that its loss is noticed"),
        item(
            "notes of a change", "folder", .data, "changes/**", .personal, .stores,
            "A change of recipients and its progress; removed once it is done"),
        item(
            "change of recipients", "folder", .store, ".passdir-reencrypt/**", .ciphertext, .stores,
            "Secrets encrypted to new recipients, until all of them are; then removed"),
        item(
            "new clone", "git repository", .besideStore, ".passdir-*.new/**", .ciphertext, .stores,
            "A store that is being cloned again, until it is in place"),
        item(
            "old folder", "git repository", .besideStore, ".passdir-*.old/**", .ciphertext, .stores,
            "The old folder of a store that was cloned again, then removed"),
        item(
            "commit journal", "text", .git, "passdir-*", .personal, .sync,
            "What is being committed or merged, so that a crash loses nothing; then removed"),
        item(
            "sizes", "table", .table, "plaintextSize", .personal, .stores,
            "Sizes of secrets; never a name"),
        item(
            "store facts", "table", .table, "storeState", .personal, .stores,
            "What passdir has learned about "
                + "each store"
        ),
        item(
            "schema versions", "table", .table, "grdb_migrations", .none, .stores,
            "The versions of the tables"),
        item(
            "last push", "seconds since 1970", .fact, "lastPush", .personal, .sync,
            "When a push last reached the remote"),
        item(
            "last fetch", "seconds since 1970", .fact, "lastFetch", .personal, .sync,
            "When the remote was last asked for changes"),
        item(
            "transport", "word", .fact, "transport", .none, .sync,
            "What talks to the remote if libgit2 could not"),
        item(
            "conflicts", "paths", .fact, "conflicts", .personal, .sync,
            "Secrets of which a merge kept both versions, until conflicts are resolved"),
        item(
            "expiry notice", "day", .fact, "expiryTold-*", .personal, .daemon,
            "Which expiry of a credential you were notified of, by its kind"),
        item(
            "former readers", "JSON", .fact, "formerReaders", .personal, .daemon,
            "Who could read which secrets until you changed recipients, until the passwords are changed; never a value"
        ),
        item(
            "deadlines", "JSON", .fact, "deadlines", .personal, .daemon,
            "Until when passwords serve, as passdir health last saw; dates and names only"),
        item(
            "deadline notices", "JSON", .fact, "deadlinesTold", .personal, .daemon,
            "Which of these days you were notified of"),
        item(
            "lost secrets", "JSON", .fact, "lost", .personal, .daemon,
            "Which secrets could not be saved before the daemon ended; never their text"),
        item(
            "last new secret", "seconds since 1970", .fact, "lastNew", .personal, .daemon,
            "When you last chose the store for a new secret, to offer it first the next time"),
        item(
            "rewritten commits", "commit ids", .fact, "rewritten", .personal, .sync,
            "Commits that were rebased onto the remote's"),
        item(
            "last remote", "URL without passwords", .fact, "remote", .personal, .sync,
            "The URL last fetched from, as the remote's name may later point elsewhere"),
    ])

    /// The names that are declared more than once.
    static func repeated(in items: [PersistedItem]) -> [String] {
        Dictionary(items.map { ($0.name, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }.keys.sorted()
    }

    private static func uniqueItems(_ items: [PersistedItem]) -> [PersistedItem] {
        let repeated = repeated(in: items)
        precondition(repeated.isEmpty, "declared twice: \(repeated)")
        return items
    }

    private static func item(
        _ name: String, _ type: String, _ place: PersistedItem.Place, _ pattern: String,
        _ protection: SettingProtection, _ owner: SettingOwner, _ description: String
    ) -> PersistedItem {
        PersistedItem(
            name: name, type: type, place: place, pattern: pattern, protection: protection, owner: owner,
            description: description)
    }
}
