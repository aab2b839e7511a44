public import Settings
public import SystemPackage

/// A store as the configuration, or pass's own place, defines it.
public struct StoreDefinition: Sendable, Equatable {
    /// The name: a directory under the mount point.
    public var name: String
    /// The folder with the encrypted files, absolute.
    public var path: FilePath
    /// What learned state and credentials are filed under: the id, or `path:FOLDER` where there is none yet.
    public var identifier: String
    /// Whether it is there because no store is configured and pass has one.
    public var isImplicit: Bool
    /// Whether the folder is one that passdir cloned.
    public var isCloned = false
    /// Where it was cloned from.
    public var url: String?
    /// The branch that is committed to, where one is named.
    public var branch: String?
    /// How the remote is told who we are; nil: as the URL suggests.
    public var authentication: AuthenticationMethod?
    /// The user name at the remote.
    public var userName: String?
    /// A private SSH key file.
    public var sshKey: FilePath?
    /// The user's own OpenPGP key for this store.
    public var key: String?
    /// A GnuPG home of its own.
    public var keyring: FilePath?
    /// Whether it is a folder of the mount.
    public var isInMount = true
    /// Whether look-ups that fill credentials into other programs use it.
    public var isInAutofill = true
    /// Whether the mount and the commands refuse to change it.
    public var isReadOnly = false

    /// A store that no section defines.
    public init(name: String, path: FilePath, identifier: String, isImplicit: Bool) {
        self.name = name
        self.path = path
        self.identifier = identifier
        self.isImplicit = isImplicit
    }

    /// What a section of the configuration says.
    init(_ section: StoreSection, cloneFolder: FilePath) throws(SettingsError) {
        if let objection = StoreName.objection(to: section.name) {
            throw SettingsError(code: .name, message: objection, file: section.file, line: section.line)
        }
        let id = try section.value(Catalogue.storeID) ?? nil
        let url = try section.value(Catalogue.storeURL) ?? nil
        let ours = id.map { cloneFolder.appending($0) }
        guard let path = try section.value(Catalogue.storePath) ?? nil ?? (url == nil ? nil : ours) else {
            throw SettingsError(
                code: .value,
                message:
                    "the store \"\(section.name)\" has no path: add path = FOLDER, or url and id of a clone",
                file: section.file, line: section.line)
        }
        self.init(name: section.name, path: path, identifier: id ?? "path:\(path)", isImplicit: false)
        isCloned = path == ours
        self.url = url
        branch = try section.value(Catalogue.storeBranch) ?? nil
        authentication = try section.value(Catalogue.storeAuthentication) ?? nil
        userName = try section.value(Catalogue.storeUserName) ?? nil
        sshKey = try section.value(Catalogue.storeSSHKey) ?? nil
        key = try section.value(Catalogue.storeKey) ?? nil
        keyring = try section.value(Catalogue.storeKeyring) ?? nil
        isInMount = try section.value(Catalogue.storeInMount) ?? true
        isInAutofill = try section.value(Catalogue.storeInAutofill) ?? true
        isReadOnly = try section.value(Catalogue.storeReadOnly) ?? false
    }

    /// The id; nil where the section has none yet, or there is no section.
    public var id: String? { identifier.hasPrefix("path:") ? nil : identifier }
}
