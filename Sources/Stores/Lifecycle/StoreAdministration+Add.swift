public import Git
import Glibc
import OpenPGP
public import Settings
import System
public import SystemPackage

/// A store that is to be cloned.
public struct CloneWish: Sendable {
    /// The store's name.
    public var name: String
    /// Where from; without credentials in it.
    public var url: RemoteURL
    /// The branch; nil takes the remote's own.
    public var branch: String?
    /// How the server is told who we are; nil: as the URL suggests.
    public var method: AuthenticationMethod?
    /// The user name at the remote.
    public var userName: String?
    /// A private SSH key file.
    public var sshKey: FilePath?
    /// The user's own key for it.
    public var key: String?
    /// A GnuPG home of its own.
    public var keyring: FilePath?
    /// Credentials that the user gave; kept once the clone has succeeded.
    public var secrets: [CredentialKind: SecretBytes]

    /// A wish; what the URL says of user and password is taken from it.
    public init(
        name: String, url: RemoteURL, branch: String? = nil, method: AuthenticationMethod? = nil,
        userName: String? = nil, sshKey: FilePath? = nil, secrets: [CredentialKind: SecretBytes] = [:]
    ) throws(LifecycleError) {
        self.name = name
        self.url = url
        self.branch = branch
        self.method = method
        self.userName = userName ?? url.userName
        self.sshKey = sshKey
        self.secrets = secrets
        if let password = url.password, self.secrets[.password] == nil {
            do throws(Errno) {
                self.secrets[.password] = try password.withUnsafeBytes { bytes in
                    Result { () throws(Errno) in try SecretBytes(copying: bytes) }
                }.get()
            } catch {
                throw LifecycleError(.failed, "not enough memory for the password")
            }
        }
        self.url.password = nil
    }

    /// The keys that a section of the configuration gets.
    func values(id: String) -> [(key: String, value: String)] {
        var values = [("url", url.text), ("id", id)]
        if let branch { values.append(("branch", branch)) }
        if let method { values.append(("authentication", method.rawValue)) }
        if let userName { values.append(("userName", userName)) }
        if let sshKey { values.append(("sshKey", sshKey.string)) }
        if let key { values.append(("key", key)) }
        if let keyring { values.append(("keyring", keyring.string)) }
        return values
    }

    func request(
        into folder: FilePath, limits configuration: Configuration
    ) throws(SettingsError) -> TransferRequest {
        var request = TransferRequest(
            .clone, repository: folder, remote: url.text, remoteRef: branch ?? "", transport: .libgit2)
        request.offers = .asked
        request.limit = try configuration.value(Catalogue.transferLimit)
        request.fileLimit = Store.Options.ciphertextLimit(
            secrets: try configuration.value(Catalogue.secretLimit))
        return request
    }

    /// How the server is told who we are.
    var login: RemoteLogin {
        let secrets = secrets
        return RemoteLogin(method: method, userName: userName, sshKey: sshKey) { secrets[$0] }
    }
}

extension StoreAdministration {
    /// Clones a store and shows it. When anything fails no folder, no configuration and no credential is left.
    /// - Parameter progress: told how far the clone is; false stops it.
    public func add(
        _ wish: CloneWish, progress: (TransferProgress) -> Bool
    ) throws(LifecycleError) -> CloneReport {
        let journal = try openJournal()
        let id = UUIDText.random()
        let folder = registry.cloneFolder.appending(id)
        try LifecycleError.wrapping { try registry.checkNew(wish.name) }
        let operation = StoreOperation(kind: .add, id: id, name: wish.name, folder: folder)
        try journal.write(operation)
        do throws(LifecycleError) {
            let report = try carryOutAdd(wish, operation, progress)
            journal.remove(operation)
            daemon?.reload()
            return report
        } catch {
            try undoAdd(operation)
            journal.remove(operation)
            throw error
        }
    }

    private func carryOutAdd(
        _ wish: CloneWish, _ operation: StoreOperation, _ progress: (TransferProgress) -> Bool
    ) throws(LifecycleError) -> CloneReport {
        try FaultPoint.reach("add.journal")
        try clone(wish, into: operation.folder, progress)
        try FaultPoint.reach("add.cloned")
        let (count, warnings) = inspect(operation.folder, name: wish.name, keyring: wish.keyring)
        try FaultPoint.reach("add.checked")
        try keep(wish.secrets, for: operation.id)
        try FaultPoint.reach("add.credential")
        try LifecycleError.wrapping {
            try registry.checkNew(wish.name)
            try registry.configuration.addStore(name: wish.name, values: wish.values(id: operation.id))
        }
        try FaultPoint.reach("add.configured")
        return CloneReport(id: operation.id, secrets: count, warnings: warnings)
    }

    /// Clones into a folder, whose parents are made.
    func clone(
        _ wish: CloneWish, into folder: FilePath, _ progress: (TransferProgress) -> Bool
    ) throws(LifecycleError) {
        do throws(Errno) {
            try folder.removingLastComponent().makeFolders()
            guard try folder.makeFolder() else { throw .fileExists }
        } catch {
            throw LifecycleError(.failed, "cannot create \(folder): \(error)")
        }
        let request = try LifecycleError.wrapping {
            try wish.request(into: folder, limits: registry.configuration)
        }
        let login = wish.login
        do throws(TransferFailure) {
            try TransferProcess(timeout: .seconds(60), credentials: { login.answer($0) }).runBlocking(
                request, isWanted: progress)
        } catch {
            if let branch = wish.branch, error.message.contains("refs/remotes/origin/\(branch)") {
                throw LifecycleError(.clone, "the remote \(wish.url.text) has no branch \"\(branch)\"")
            }
            throw LifecycleError(wrapping: error)
        }
    }

    func keep(_ secrets: [CredentialKind: SecretBytes], for id: String) throws(LifecycleError) {
        try LifecycleError.wrapping {
            for (kind, secret) in secrets {
                try credentials.save(secret, as: CredentialKey(store: id, kind: kind), expires: nil)
            }
        }
    }

    /// After a kill: with the section in the configuration the store is there; without it nothing of it may be left.
    func finishAdd(_ operation: StoreOperation) throws(LifecycleError) {
        if try section(withID: operation.id) == nil { try removeTraces(of: operation) }
    }

    /// After a failure: all of it goes, the section too.
    private func undoAdd(_ operation: StoreOperation) throws(LifecycleError) {
        try removeSection(operation.id)
        try removeTraces(of: operation)
    }

    private func removeTraces(of operation: StoreOperation) throws(LifecycleError) {
        try FolderRemoval.remove(operation.folder)
        try LifecycleError.wrapping { try credentials.deleteAll(ofStore: operation.id) }
        forgetLearned(operation.id)
    }

    func removeSection(_ id: String) throws(LifecycleError) {
        guard let section = try section(withID: id) else { return }
        try LifecycleError.wrapping { try registry.configuration.removeStore(name: section.name) }
    }
}
