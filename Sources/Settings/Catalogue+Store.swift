import SystemPackage

/// How a store's remote is told who we are.
public enum AuthenticationMethod: String, Sendable, CaseIterable, Codable {
    /// Nothing is offered.
    case none
    /// A key of the SSH agent.
    case sshAgent = "ssh-agent"
    /// An SSH key file (`sshKey`), its passphrase kept as a credential.
    case sshKey = "ssh-key"
    /// A password or token, kept as a credential.
    case password
    /// What git's own credential helpers say.
    case helper
}

extension Catalogue {
    /// `store.NAME.id`: what the store is known by in the state, whatever its name.
    public static let storeID = Setting<String?>(
        "id", default: nil, description: "The store's identity, kept when it is renamed", owner: .stores,
        kind: SettingKind.uuid.optional, place: .store)
    /// `store.NAME.path`: the store's folder.
    public static let storePath = Setting<FilePath?>(
        "path", default: nil,
        description: "The store's folder; without it, the one that passdir cloned it to", owner: .stores,
        kind: SettingKind.path.optional, place: .store, protection: .personal)
    /// `store.NAME.url`: where it was cloned from.
    public static let storeURL = Setting<String?>(
        "url", default: nil, description: "The URL that the store was cloned from", owner: .stores,
        kind: SettingKind.text("a URL without a password in it").optional, place: .store,
        protection: .personal)
    /// `store.NAME.branch`: the branch that is committed to.
    public static let storeBranch = Setting<String?>(
        "branch", default: nil, description: "The branch that changes are committed to", owner: .sync,
        kind: SettingKind.text("the name of a branch").optional, place: .store)
    /// `store.NAME.authentication`: how the remote is told who we are; nil tries what the URL suggests.
    public static let storeAuthentication = Setting<AuthenticationMethod?>(
        "authentication", default: nil,
        description: "How you authenticate to the remote; without it, as the URL suggests", owner: .sync,
        kind: SettingKind<AuthenticationMethod>.word.optional, place: .store)
    /// `store.NAME.userName`: the name at the remote.
    public static let storeUserName = Setting<String?>(
        "userName", default: nil, description: "Your user name at the remote", owner: .sync,
        kind: SettingKind.text("a user name").optional, place: .store, protection: .personal)
    /// `store.NAME.sshKey`: the file of a private SSH key.
    public static let storeSSHKey = Setting<FilePath?>(
        "sshKey", default: nil, description: "The private SSH key file for authentication = ssh-key",
        owner: .sync, kind: SettingKind.path.optional, place: .store, protection: .personal)
    /// `store.NAME.key`: the user's own key for this store.
    public static let storeKey = Setting<String?>(
        "key", default: nil,
        description: "Your OpenPGP key for this store: signs commits if user.signingkey names none",
        owner: .stores,
        kind: SettingKind.text("a key id, fingerprint or address, as in .gpg-id").optional, place: .store,
        protection: .personal)
    /// `store.NAME.keyring`: a GnuPG home of its own.
    public static let storeKeyring = Setting<FilePath?>(
        "keyring", default: nil, description: "The GnuPG home with this store's keys, instead of GNUPGHOME",
        owner: .stores, kind: SettingKind.path.optional, place: .store, protection: .personal)
    /// `store.NAME.mount`: whether the mount shows it.
    public static let storeInMount = Setting<Bool>(
        "mount", default: true, description: "Whether the store is a folder of the mount", owner: .mount,
        kind: .boolean, place: .store)
    /// `store.NAME.autofill`: whether look-ups for other programs see it.
    public static let storeInAutofill = Setting<Bool>(
        "autofill", default: true,
        description: "Whether look-ups that fill credentials into other programs use the store",
        owner: .stores, kind: .boolean, place: .store)
    /// `store.NAME.readOnly`: nothing is written through the mount.
    public static let storeReadOnly = Setting<Bool>(
        "readOnly", default: false,
        description: "Whether the mount and the commands refuse to change the store",
        owner: .mount, kind: .boolean, place: .store)

    /// What only a store has.
    static let storeSettings: [AnySetting] = [
        storeID.untyped, storePath.untyped, storeURL.untyped,
        storeBranch.untyped, storeAuthentication.untyped, storeUserName.untyped,
        storeSSHKey.untyped, storeKey.untyped, storeKeyring.untyped, storeInMount.untyped,
        storeInAutofill.untyped, storeReadOnly.untyped,
    ]

    /// The keys that a store's section may have.
    public static var storeKeys: [String] {
        all.compactMap { $0.place == .store ? $0.name : $0.storeKey }.sorted()
    }
}
