public import System
import SystemPackage

/// How much the log tells; the words of swift-log.
public enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// Whom secrets are encrypted to without being asked.
public enum RecipientTrust: String, Sendable, CaseIterable {
    /// Whoever `.gpg-id` names, as pass does.
    case always
    /// Only keys that gpg's trust model finds valid.
    case gpg
}

/// What talks to the remotes of stores.
public enum TransportChoice: String, Sendable, CaseIterable {
    case auto, libgit2, git
}

/// How commits of the remote and our own come together.
public enum IntegrationChoice: String, Sendable, CaseIterable {
    /// By a commit that has both as parents.
    case merge
    /// Our commits are made anew on top of the remote's.
    case rebase
}

/// What encrypts.
public enum EngineChoice: String, Sendable, CaseIterable {
    /// passdir itself where the result is surely of the form that gpg would give, else gpg.
    case auto
    /// gpg, always.
    case gpg
}

/// Every setting there is. A new one is declared here and listed in `all`; nothing else names its text.
public enum Catalogue {
    /// Where the stores are mounted.
    public static let mountPath = Setting<FilePath>(
        "mount.path", default: HomeDirectory.current.appending("passdir"),
        description: "The folder under which the stores appear", owner: .mount, kind: .path)
    /// How long changes gather.
    public static let commitDelay = Setting<Duration>(
        "commit.delay", default: .seconds(1),
        description: "How long passdir collects changes before it commits them",
        owner: .sync, kind: .duration, storeKey: "commitDelay")
    /// One commit for each secret.
    public static let commitEach = Setting<Bool>(
        "commit.each", default: false,
        description: "Whether each changed secret gets its own commit",
        owner: .sync, kind: .boolean, storeKey: "commitEach")
    /// How often the remote is asked.
    public static let syncInterval = Setting<Duration>(
        "sync.interval", default: .seconds(300),
        description: "How often to fetch from the remote; 0 s: only on passdir sync and before a push",
        owner: .sync, kind: .duration, storeKey: "syncInterval")
    /// What talks to the remote.
    public static let syncTransport = Setting<TransportChoice>(
        "sync.transport", default: .auto,
        description: "What talks to remotes: libgit2, git, or auto (git if libgit2 cannot reach the remote)",
        owner: .sync, kind: .word, storeKey: "transport")
    /// How histories come together.
    public static let syncIntegration = Setting<IntegrationChoice>(
        "sync.integration", default: .merge,
        description:
            "How your commits and the remote's are combined: merge, or rebase yours onto the remote's",
        owner: .sync, kind: .word, storeKey: "integration")
    /// The largest secret.
    public static let secretLimit = Setting<Int>(
        "limits.secret", default: 64 << 20,
        description: "The largest secret that can be read or saved, in bytes",
        owner: .stores, kind: .bytes)
    /// The largest fetch.
    public static let transferLimit = Setting<Int>(
        "limits.transfer", default: 1 << 30,
        description: "The size limit of a fetch or clone, and of its files, in bytes", owner: .sync,
        kind: .bytes)
    /// The wait for a passphrase.
    public static let promptTimeout = Setting<Duration>(
        "prompt.timeout", default: .seconds(120),
        description: "How long a passphrase prompt waits for an answer, "
            + "and before that for another prompt to close",
        owner: .stores, kind: .duration)
    /// The limit of a push or fetch.
    public static let pushTimeout = Setting<Duration>(
        "push.timeout", default: .seconds(60),
        description: "How long a server may be silent during a push or fetch",
        owner: .sync, kind: .duration)
    /// The time to commit and push at unmount.
    public static let unmountTimeout = Setting<Duration>(
        "unmount.timeout", default: .seconds(20),
        description: "How long unmounting may take to commit and push",
        owner: .daemon, kind: .duration)
    /// What the log tells.
    public static let logLevel = Setting<LogLevel>(
        "log.level", default: .info, description: "How detailed the log is", owner: .daemon, kind: .word)
    /// How often a failed save, or opening a store, is tried again.
    public static let saveRetry = Setting<Duration>(
        "save.retry", default: .seconds(15),
        description:
            "How long to wait before retrying a failed save or a store that could not be opened",
        owner: .mount, kind: .duration)

    /// What encrypts and decrypts.
    public static let openPGPEngine = Setting<EngineChoice>(
        "openpgp.engine", default: .auto,
        description:
            "What encrypts and decrypts: gpg, or auto (passdir if the result is certain to match gpg's, else gpg)",
        owner: .stores, kind: .word)
    /// Whether the web of trust counts.
    public static let recipientTrust = Setting<RecipientTrust>(
        "recipients.trust", default: .always,
        description: "Which recipients to encrypt to: all that .gpg-id names, or only those that gpg trusts",
        owner: .stores, kind: .word, storeKey: "recipientsTrust")
    /// Whether recipients that others added must be confirmed.
    public static let recipientConfirm = Setting<Bool?>(
        "recipients.confirm", default: nil,
        description:
            "Wait for your approval before encrypting to a key that someone else added; by default, in stores "
            + "with a remote",
        owner: .stores, kind: SettingKind.boolean.optional, storeKey: "recipientsConfirm")
    /// `store.NAME.signingKeys`: who must have signed `.gpg-id`.
    public static let storeSigningKeys = Setting<String?>(
        "signingKeys", default: nil,
        description: "Fingerprints of the keys that may sign .gpg-id, like PASSWORD_STORE_SIGNING_KEY",
        owner: .stores, kind: SettingKind.text("fingerprints of 40 digits, separated by spaces").optional,
        place: .store)
    /// Names of scratch files besides the known ones.
    public static let scratchPatterns = Setting<[String]>(
        "mount.scratch", default: [],
        description: "Shell patterns, separated by spaces, for files that are kept in memory only",
        owner: .mount,
        kind: .words)
    /// The memory of scratch files.
    public static let scratchLimit = Setting<Int>(
        "limits.scratch", default: 64 << 20, description: "How much memory scratch files may use, in bytes",
        owner: .mount, kind: .bytes)
    /// The time that a secret stays which was renamed to a scratch name.
    public static let grace = Setting<Duration>(
        "mount.grace", default: .seconds(10),
        description: "How long a secret stays in the store after it is renamed to a backup name",
        owner: .mount,
        kind: .duration)

    /// How long what was read is kept.
    public static let cacheTime = Setting<Duration>(
        "cache.time", default: .seconds(60),
        description: "How long decrypted content is kept after a file is closed; 0 s keeps nothing",
        owner: .mount, kind: .duration)

    /// Whether a lock has gpg-agent forget passphrases.
    public static let lockAgent = Setting<Bool>(
        "lock.agent", default: true,
        description: "Whether locking a store makes gpg-agent forget all passphrases", owner: .daemon,
        kind: .boolean)
    /// After how long without a read all stores are locked.
    public static let lockIdle = Setting<Duration>(
        "lock.idle", default: .zero,
        description: "Lock all stores when nothing has been read for this long; 0 s: never", owner: .daemon,
        kind: .duration)
    /// Whether the lock of the screen locks all stores.
    public static let lockScreen = Setting<Bool>(
        "lock.screen", default: false, description: "Whether to lock all stores when the screen is locked",
        owner: .daemon, kind: .boolean)
    /// Whether a suspension locks all stores.
    public static let lockSuspend = Setting<Bool>(
        "lock.suspend", default: false,
        description: "Whether to lock all stores before the computer is suspended", owner: .daemon,
        kind: .boolean)
    /// Whether a logout locks all stores.
    public static let lockLogout = Setting<Bool>(
        "lock.logout", default: false,
        description: "Whether to lock all stores when your last session ends", owner: .daemon, kind: .boolean)

    /// How long a question whether a program may read waits.
    public static let accessTimeout = Setting<Duration>(
        "access.timeout", default: .seconds(60),
        description: "How long to wait for an answer to the question whether a program may read",
        owner: .access, kind: .duration)
    /// Whether it is noted who read what.
    public static let accessLog = Setting<Bool?>(
        "access.log", default: nil,
        description: "Whether to log which program read which secret; by default, while there are rules",
        owner: .access, kind: SettingKind.boolean.optional)
    /// How long that is kept.
    public static let accessKeep = Setting<Duration>(
        "access.keep", default: .seconds(30 * 86_400),
        description: "How long the access log is kept; beyond 50000 lines, the oldest are dropped",
        owner: .access, kind: .duration)
    /// Whether first reads are told on the desktop.
    public static let accessNotify = Setting<Bool>(
        "access.notify", default: false,
        description: "Whether to notify you when a program reads a secret that it has not read before",
        owner: .access, kind: .boolean)

    /// After how long the passwords of a place are to be changed.
    public static let healthRotate = Setting<RotationPeriod?>(
        "health.rotate", default: nil,
        description: "How long a password may serve if it has no 'rotate:' line, also by folder",
        owner: .daemon,
        kind: SettingKind.period.optional, isPlaced: true)

    /// Whether what expires is told on the desktop.
    public static let healthNotify = Setting<Bool>(
        "health.notify", default: true,
        description:
            "Whether to notify you before a password expires or is due, by what passdir health last saw",
        owner: .daemon, kind: .boolean)

    /// The length of new passwords.
    public static let generateLength = Setting<Int?>(
        "generate.length", default: nil,
        description: "How many characters a new password has, also by folder",
        owner: .daemon, kind: SettingKind.number(upTo: 4096).optional, isPlaced: true)
    /// The characters of new passwords.
    public static let generateCharacters = Setting<String?>(
        "generate.characters", default: nil,
        description: "The characters of a new password, as for tr(1), also by folder", owner: .daemon,
        kind: SettingKind.text("characters as for tr(1), such as a-z0-9").optional, isPlaced: true)
    /// Whether new passwords have symbols.
    public static let generateSymbols = Setting<Bool?>(
        "generate.symbols", default: nil,
        description: "Whether a new password has more than letters and digits, also by folder",
        owner: .daemon,
        kind: SettingKind.boolean.optional, isPlaced: true)
    /// The words of new passwords.
    public static let generateWords = Setting<Int?>(
        "generate.words", default: nil,
        description: "How many words a new password has instead of characters, also by folder",
        owner: .daemon,
        kind: SettingKind.number(upTo: 4096).optional, isPlaced: true)

    /// The key that credentials are encrypted to where there is no Secret Service.
    public static let credentialKey = Setting<String?>(
        "credential.key", default: nil,
        description: "Your key to encrypt credentials to if there is no Secret Service",
        owner: .stores, kind: SettingKind.text("a key id, fingerprint or address, as in .gpg-id").optional,
        protection: .personal)

    /// All settings; no name is declared twice.
    public static let all: [AnySetting] = unique(
        [
            mountPath.untyped, commitDelay.untyped, commitEach.untyped, syncInterval.untyped,
            syncTransport.untyped, syncIntegration.untyped, secretLimit.untyped,
            promptTimeout.untyped, pushTimeout.untyped, unmountTimeout.untyped,
            logLevel.untyped, saveRetry.untyped, scratchPatterns.untyped,
            scratchLimit.untyped, grace.untyped, credentialKey.untyped,
            openPGPEngine.untyped, recipientTrust.untyped, recipientConfirm.untyped,
            storeSigningKeys.untyped, transferLimit.untyped, cacheTime.untyped,
            lockAgent.untyped, lockIdle.untyped, lockScreen.untyped, lockSuspend.untyped,
            lockLogout.untyped,
            accessTimeout.untyped, accessLog.untyped, accessKeep.untyped, accessNotify.untyped,
            healthRotate.untyped, healthNotify.untyped, generateLength.untyped, generateCharacters.untyped,
            generateSymbols.untyped, generateWords.untyped,
        ] + storeSettings)

    /// The setting of a name (`section.key`, compared without case); nil when there is none.
    public static func setting(named name: String) -> AnySetting? {
        all.first { $0.place == .configuration && $0.name.lowercased() == name.lowercased() }
    }

    /// What to say of a key that there is not: those that there are.
    static func unknown(_ name: String) -> String {
        let section = name.prefix { $0 != "." }
        if section == "store" {
            return "'\(name)' is not a setting: a store has " + storeKeys.joined(separator: ", ")
        }
        let general = all.filter { $0.place == .configuration }.map(\.name).sorted()
        let near = general.filter { $0.hasPrefix(section + ".") }
        let verb = near.count == 1 ? "is" : "are"
        return "'\(name)' is not a setting: there \(verb) "
            + (near.isEmpty ? general : near).joined(separator: ", ")
    }

    /// The setting that a store's key sets: one of the store's own, or the override of a general one.
    public static func storeSetting(key: String) -> AnySetting? {
        all.first { storeKey(of: $0)?.lowercased() == key.lowercased() }
    }

    /// The names that are declared more than once, in a place where they would meet.
    static func repeated(in settings: [AnySetting]) -> [String] {
        let names = settings.filter { $0.place == .configuration }.map { $0.name.lowercased() }
        let keys = settings.compactMap { storeKey(of: $0).map { "store.*.\($0.lowercased())" } }
        let counts = Dictionary((names + keys).map { ($0, 1) }, uniquingKeysWith: +)
        return counts.filter { $0.value > 1 }.keys.sorted()
    }

    private static func storeKey(of setting: AnySetting) -> String? {
        setting.place == .store ? setting.name : setting.storeKey
    }

    private static func unique(_ settings: [AnySetting]) -> [AnySetting] {
        let repeated = repeated(in: settings)
        precondition(repeated.isEmpty, "declared twice: \(repeated)")
        return settings
    }
}
